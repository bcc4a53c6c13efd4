/// The detection of rooms in which no participant is on air.
extension TaskMachine {
    /// Returns whether the room has no stream that the program could show. A task that ends with its room also requires that
    /// the room is empty.
    func isIdle(_ room: Room, _ context: PlanningContext) -> Bool {
        // A task whose start is in the future is not idle yet, nor is one between its times.
        if let schedule, schedule.isAhead(at: context.wallClock) || schedule.isOnAir(at: context.wallClock) {
            return false
        }
        return !context.hasStreams(for: room) && (!finishesWithRoom || room.participants.isEmpty)
    }

    func idleSeconds(_ room: Room) -> Int {
        if finishesWithRoom, revision == 0 { return RoomPolicy.longestWait }
        return room.settings.policy.maxIdleSeconds
    }

    /// While no relay is wanted, ends the task permanently if it is time, or else watches for idleness.
    mutating func watch(
        _ waiting: Waiting, _ room: Room, _ context: PlanningContext, _ cause: Cause
    ) -> [TaskAction] {
        var waiting = waiting
        // Capacity does not matter to a task that would not start anyway.
        if waiting.after == .noCapacity { waiting.reason = .ended(nil) }
        state = .waiting(waiting)
        guard finishesWhenIdle, var creation else { return [] }
        if room.isOpen, !creation.sawOpenRoom {
            creation.sawOpenRoom = true
            origin = .explicit(creation)
        }
        if finishesWithRoom, !room.isOpen, creation.sawOpenRoom { return finish(.roomClosed, cause) }
        let (deadline, actions) = watchIdleness(waiting.idleDeadline, room, context, cause.receivedAt)
        waiting.idleDeadline = deadline
        state = .waiting(waiting)
        return actions
    }

    /// Watches whether the room is idle.
    ///
    /// - Parameter awaited: Number of the deadline that is already awaited, if any.
    /// - Returns: The number of the deadline to await from now on, if any, and the action that schedules a new one.
    mutating func watchIdleness(
        _ awaited: Int?, _ room: Room, _ context: PlanningContext, _ now: Int64
    ) -> (Int?, [TaskAction]) {
        guard isIdle(room, context) else { return (nil, []) }
        if let awaited { return (awaited, []) }
        let (number, action) = deadline(.idle, at: now + Int64(idleSeconds(room)) * 1_000_000_000)
        return (number, [action])
    }

    /// Handles the idle deadline, if it is the one that is awaited.
    mutating func idled(_ number: Int, _ cause: Cause) -> [TaskAction] {
        switch state {
        case .onAir(let onAir) where onAir.idleDeadline == number:
            return end(onAir, .idle, cause)
        case .waiting(var waiting) where waiting.idleDeadline == number:
            waiting.idleDeadline = nil
            state = .waiting(waiting)
            return finishesWhenIdle ? finish(.idle, cause) : []
        case .waiting, .held, .onAir, .ending, .finished:
            return []
        }
    }
}
