/// The scheduled start and end of an explicit task.
///
/// The times are times of day and are stored with the settings. Deadlines are of CLOCK_MONOTONIC: each decision of a
/// new process schedules its own, and a deadline that comes early, because the time of day was set, is scheduled again.
extension TaskMachine {
    /// Longest time for which a deadline is scheduled, in ns. A time of day that is set ahead is noticed within this
    /// time.
    static let longestScheduled: Int64 = 600_000_000_000

    /// A deadline of the schedule that this process awaits. It is not stored.
    struct ScheduledDeadline: Hashable, Sendable {
        var number: Int
        /// The time of day for which it was scheduled, in seconds since 1970.
        var time: Double
    }

    var schedule: TaskSchedule? { creation?.settings.schedule }

    /// Ends the task permanently if its scheduled end has been reached; returns `nil` if it has not.
    mutating func endOnSchedule(_ context: PlanningContext, _ cause: Cause) -> [TaskAction]? {
        guard let schedule, schedule.isOver(at: context.wallClock) else { return nil }
        switch state {
        case .finished, .ending: return nil
        case .waiting, .held, .onAir: return finish(.scheduled, cause)
        }
    }

    /// Schedules the deadline of the next change, unless it is already awaited.
    mutating func watchSchedule(_ context: PlanningContext, _ now: Int64) -> [TaskAction] {
        guard let schedule, let next = schedule.nextChange(after: context.wallClock) else { return [] }
        switch state {
        case .finished, .ending: return []
        case .waiting, .held, .onAir: break
        }
        guard scheduled?.time != next else { return [] }
        let wait = Int64(min((next - context.wallClock) * 1e9, Double(Self.longestScheduled)).rounded(.up))
        let (number, action) = deadline(.schedule, at: now + wait)
        scheduled = ScheduledDeadline(number: number, time: next)
        return [action]
    }

    /// Handles a deadline of the schedule.
    mutating func scheduleReached(
        _ number: Int, _ room: Room, _ context: PlanningContext, _ now: Int64, _ origin: CauseID?
    ) -> [TaskAction] {
        guard let awaited = scheduled, awaited.number == number else { return [] }
        scheduled = nil
        let isStart = awaited.time == schedule?.startsAt
        let cause = Cause(
            receivedAt: now, summary: isStart ? "scheduled start" : "scheduled end", id: origin)
        return roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
    }
}
