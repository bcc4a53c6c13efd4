import MixModel

extension TaskMachine {
    /// The state of the task as reported to clients and subscribers, with the reason if it has stopped.
    package var reportedState: (state: TaskState, endReason: EndReason?) {
        switch phase {
        // An explicit task that was requested to start does so with the first stream.
        case .waiting(nil) where isExplicit: (.starting, nil)
        case .waiting(let reason): (.stopped, reason)
        case .held(let user): (.stopped, user == nil ? .requested : .hostLeft)
        case .ending(let reason), .finished(let reason): (.stopped, reason)
        case .starting where launchesFailed >= 5, .recovering where launchesFailed >= 5: (.failed, nil)
        case .starting: (.starting, nil)
        case .recovering: (.recovering, nil)
        case .running: (.running, nil)
        }
    }
}
