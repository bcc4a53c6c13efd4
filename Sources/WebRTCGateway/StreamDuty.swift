import Logging
import MixModel

/// What a worker that serves one stream does: it obeys the service's commands and reports to it.
///
/// Every method is called on the socket loop, except `close()`.
package protocol StreamDuty: AnyObject, Sendable {
    associatedtype Command: WorkerCommand
    associatedtype Report: Encodable & Sendable

    /// The GStreamer elements that it needs, with their Debian packages.
    static var elements: [(name: String, package: String)] { get }

    /// Returns the answer to a service that is turned away.
    ///
    /// - Parameter reason: Why, in words.
    static func refusal(_ reason: String) -> Report

    /// - Parameters:
    ///   - report: Sends a report to the service, if one is connected.
    ///   - onEnd: Called when nothing is left to do but `close()`.
    init(logger: Logger, report: @escaping (Report) -> Void, onEnd: @escaping () -> Void)

    /// The answers to a service that connects: who it is, and what it does at the moment.
    var greeting: [Report] { get }

    /// Performs a command other than `hello` and `terminate`.
    func obey(_ command: Command)

    /// Begins to end, because the service wants it, or has been away for too long.
    func terminate()

    /// Frees everything. Called once, from any thread.
    func close() async
}
