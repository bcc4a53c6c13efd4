import TextFormats

/// A server that a program is pushed to.
///
/// The scheme of its URL determines the protocol that a relay uses.
public struct PushDestination: Hashable, Codable, Sendable {
    public var id: OutputID
    /// Push URL. May contain a stream key; never logged.
    public var url: String
    /// Limits on retries after a failure; `nil` means that it is retried forever.
    public var retry: OutputRetry?

    public init(id: OutputID, url: String, retry: OutputRetry? = nil) {
        self.id = id
        self.url = url
        self.retry = retry
    }
}

extension PushDestination: OutputDocument {
    public static let kind = "rtmp"
    public static let planField = OutputField("outputs", .list)
    public static let statusField = OutputField("outputs", .list)

    public var outputID: OutputID { id }

    public var connections: Int { 1 }

    /// Returns the state of the destinations: running while one of them is live, with the error of the first one that
    /// is not.
    public static func service(of planned: [PushDestination], _ statuses: [DestinationStatus]) -> ServiceState {
        let actual = Dictionary(statuses.map { ($0.id, $0) }) { first, _ in first }
        let known = planned.compactMap { actual[$0.id] }
        return ServiceState(
            running: known.contains { $0.state == .live }, error: known.lazy.compactMap(\.serviceFailure).first)
    }
}

extension DestinationStatus: OutputStatusDocument {
    /// The last failure, unless the destination has recovered from it.
    fileprivate var serviceFailure: ServiceState.Failure? {
        guard state != .live, let lastError else { return nil }
        return ServiceState.Failure(
            code: lastErrorCode?.rawValue ?? "output_\(state.rawValue)", message: "output \(id): \(lastError)")
    }

    public var bounded: DestinationStatus {
        var status = self
        status.connectedSince = connectedSince?.boundedSeconds
        status.reconnects = reconnects.boundedCount
        status.bytesSent = bytesSent.boundedCount
        status.droppedFrames = droppedFrames?.boundedCount
        return status
    }
}

extension Sequence<PlannedOutput> {
    public var destinations: [PushDestination] { of(PushDestination.self) }
}

extension Sequence<OutputStatus> {
    public var destinations: [DestinationStatus] { of(DestinationStatus.self) }
}

extension ServiceStates {
    /// State of the destinations.
    public var rtmp: ServiceState { self[PushDestination.kind] }
}
