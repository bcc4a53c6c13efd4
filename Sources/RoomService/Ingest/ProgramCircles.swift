import EventSubscription
import MixModel
import TextFormats

/// The rooms whose programs are published into other rooms, so that none ends up in its own picture. Pure.
///
/// An output of a room may go to the service's own RTMP server under the stream key of another room. Back in the room it came
/// from, directly or through others, it would be a picture of itself without end, and each turn would be encoded anew.
struct ProgramCircles: Sendable {
    /// The room whose program the stream is.
    private(set) var origins: [IngestStreamKey: RoomID]

    /// - Parameter origins: Those of publishers that began during an earlier run of the service.
    init(origins: [IngestStreamKey: RoomID] = [:]) { self.origins = origins }

    /// Notes a publisher.
    ///
    /// - Parameter origin: The room whose program it sends; `nil` = it is no program of this service.
    /// - Returns: Whether it may begin. One that closes a circle is not noted.
    mutating func begin(_ key: IngestStreamKey, from origin: RoomID?) -> Bool {
        guard let origin else {
            origins[key] = nil
            return true
        }
        guard !leads(from: key.names.room, to: origin) else { return false }
        origins[key] = origin
        return true
    }

    mutating func end(_ key: IngestStreamKey) { origins[key] = nil }

    /// Notes whose program a stream is, whatever follows from that.
    mutating func set(_ key: IngestStreamKey, _ origin: RoomID?) { origins[key] = origin }

    /// Whether a publisher closes a circle, together with streams of other ingests.
    ///
    /// - Parameter others: The rooms whose programs those streams are.
    func closes(_ key: IngestStreamKey, from origin: RoomID, with others: [IngestStreamKey: RoomID]) -> Bool {
        ProgramCircles(origins: others.merging(origins) { $1 }).leads(from: key.names.room, to: origin)
    }

    /// Whether `room`'s program is a part of that of `goal`, or they are one.
    private func leads(from room: RoomID, to goal: RoomID) -> Bool {
        var reached: Set<RoomID> = [room]
        var waiting = [room]
        while let next = waiting.popLast() {
            if next == goal { return true }
            for (key, origin) in origins where origin == next && reached.insert(key.names.room).inserted {
                waiting.append(key.names.room)
            }
        }
        return false
    }
}

extension DestinationClaims {
    /// Most names that are looked up for one publisher.
    private static let mostNames = 4

    /// Returns the task whose output arrives as this publisher.
    ///
    /// - Parameters:
    ///   - rules: Where the server listens.
    ///   - lookUp: Returns the addresses of a host. Asked only about hosts of outputs that have the publisher's port and path.
    func sender(
        of request: IngestRequest, at rules: IngestRules, lookUp: @Sendable (String) async -> [InternetAddress]
    ) async -> TaskID? {
        // What is sent to an address of this machine comes from the same one.
        let hosts = ["localhost", "127.0.0.1", "::1", request.address] + rules.hosts
        let ports = [rules.port] + (rules.rtmps.map { [$0.port] } ?? [])
        let places = ports.map { ":\($0)/\(request.application)/\(request.name)" }
        for host in hosts {
            for place in places {
                if let holder = holder(of: host + place) { return holder }
            }
        }
        for place in places {
            for host in self.hosts(with: place).prefix(Self.mostNames) {
                let isOwn = await lookUp(host).contains { address in
                    "\(address)" == request.address || address.isLoopback && request.isFromLoopback
                }
                if isOwn, let holder = holder(of: host + place) { return holder }
            }
        }
        return nil
    }
}
