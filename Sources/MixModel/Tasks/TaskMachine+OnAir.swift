extension TaskMachine {
    /// A program that is on air, or about to be.
    struct OnAir: Hashable, Sendable {
        /// The state of the relay.
        enum Stage: Hashable, Sendable {
            /// The relay is being started for the first time.
            case starting
            case running
            /// The relay was lost and is being started again.
            case recovering
        }

        var stage = Stage.starting
        /// Program in force. It exists as soon as the task has decided; only a stored document may lack it, and the
        /// next decision makes one.
        @Boxed var program: ProgramInForce?
        var debounce = Debounce.open
        var launches: RelayLaunches
        /// Number of the deadline at which an idle program ends; `nil` if none is awaited.
        var idleDeadline: Int?
        /// The position of the program's stream on the clock, for a relay on another machine; `nil` outside of
        /// clusters.
        @Boxed var place: ProgramPlace?

        /// Adapts the program to a new process of the orchestrator, whose relay may still be running.
        mutating func restart(origin: CauseID?) {
            stage = .recovering
            debounce = .open
            launches.restart(origin: origin)
            idleDeadline = nil
        }

        /// The actions that connect to the relay, or start it, and give it the plan in force.
        var launch: [TaskAction] {
            [.launchRelay] + (place.map { [.resume($0)] } ?? []) + (program.map { [.apply($0.plan)] } ?? [])
        }
    }

    /// The program that a relay shows or is about to show.
    struct ProgramInForce: Hashable, Sendable {
        var plan: ProgramPlan
        /// Host of the program so far; `nil` if there was none.
        var host: UserID?
    }
}
