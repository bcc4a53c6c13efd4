import EventSubscription
import MixModel
import TextFormats

/// Tracks rooms whose programs are published into other rooms, so that no program becomes part of its own picture.
/// Pure.
///
/// An output of a room may go to the service's own RTMP server under the stream key of another room. If it came back
/// into the room of its origin, directly or through other rooms, the picture would contain itself endlessly, and each
/// pass would encode it again.
struct ProgramCircles: Sendable {
    /// The room whose program each stream carries.
    private(set) var origins: [IngestStreamKey: RoomID]

    /// - Parameter origins: The origins of publishers that started during an earlier run of the service.
    init(origins: [IngestStreamKey: RoomID] = [:]) { self.origins = origins }

    /// Records a publisher.
    ///
    /// - Parameter origin: The room whose program it sends; `nil` = not a program of this service.
    /// - Returns: Whether it may start. A publisher that would close a circle is not recorded.
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

    /// Returns whether a publisher closes a circle, together with streams of other ingests.
    ///
    /// - Parameter others: The rooms whose programs those streams are.
    func closes(_ key: IngestStreamKey, from origin: RoomID, with others: [IngestStreamKey: RoomID]) -> Bool {
        ProgramCircles(origins: others.merging(origins) { $1 }).leads(from: key.names.room, to: origin)
    }

    /// Returns whether `room`'s program is a part of that of `goal`, or they are one.
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
    /// Maximum number of host names looked up for one publisher.
    private static let mostNames = 4

    /// Returns the task whose output arrives as this publisher.
    ///
    /// - Parameters:
    ///   - rules: The server's addresses.
    ///   - lookUp: Returns the addresses of a host. Called only for hosts of outputs with the publisher's port and
    ///     path.
    func sender(
        of request: IngestRequest, at rules: IngestRules, lookUp: @Sendable (String) async -> [InternetAddress]
    ) async -> TaskID? {
        // Data sent to an address of this machine arrives from that same address.
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
