/// An input of a machine that controls a worker: the events of the worker's link are among its inputs.
protocol WorkerInput: Sendable {
    associatedtype Report: Decodable & Sendable

    static var attached: Self { get }
    static func report(_ report: Report) -> Self
    static var detached: Self { get }
    static func lost(reason: String) -> Self
}

extension AsyncStream.Continuation where Element: WorkerInput {
    /// Adds an event of the worker's link to the queue. Returns whether there was room.
    func take<Command: Encodable & Sendable>(_ event: WorkerLink<Command, Element.Report>.Event) -> Bool {
        let input: Element =
            switch event {
            case .attached: .attached
            case .report(let report): .report(report)
            case .detached: .detached
            case .lost(let reason): .lost(reason: reason)
            }
        if case .dropped = yield(input) { return false }
        return true
    }
}
