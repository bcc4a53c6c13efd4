import Logging
import MixModel

/// The task of a worker that serves one stream: it obeys the service's commands and reports to it.
///
/// Every method is called on the socket loop, except `close()`.
package protocol StreamDuty: AnyObject, Sendable {
    associatedtype Command: WorkerCommand
    associatedtype Report: Encodable & Sendable

    /// The GStreamer elements that the duty needs, with their Debian packages.
    static var elements: [(name: String, package: String)] { get }

    /// Returns the answer to a service that is refused.
    ///
    /// - Parameter reason: Description of the reason.
    static func refusal(_ reason: String) -> Report

    /// - Parameters:
    ///   - report: Sends a report to the service, if one is connected.
    ///   - onEnd: Called when only `close()` remains to be done.
    init(logger: Logger, report: @escaping (Report) -> Void, onEnd: @escaping () -> Void)

    /// The answers to a service that connects: the worker's identity and current state.
    var greeting: [Report] { get }

    /// Performs a command other than `hello` and `terminate`.
    func obey(_ command: Command)

    /// Begins to end, because the service requested it, or has been absent for too long.
    func terminate()

    /// Frees everything. Called once, from any thread.
    func close() async
}
