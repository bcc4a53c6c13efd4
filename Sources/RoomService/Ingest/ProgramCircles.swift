import MixModel

/// The rooms whose programs are published into other rooms, so that none ends up in its own picture. Pure.
///
/// An output of a room may go to the service's own RTMP server under the stream key of another room. Back in the room it came
/// from, directly or through others, it would be a picture of itself without end, and each turn would be encoded anew.
struct ProgramCircles: Sendable {
    /// The room whose program the stream is.
    private var origins: [IngestStreamKey: RoomID] = [:]

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
    /// Returns the task whose output arrives as this publisher.
    ///
    /// - Parameter rules: Where the server listens. Only addresses of this machine are compared: a name that means it as well
    ///   is not found.
    func sender(of request: IngestRequest, at rules: IngestRules) -> TaskID? {
        // What is sent to an address of this machine comes from the same one.
        let hosts = ["localhost", "127.0.0.1", "::1", rules.host, request.address]
        let ports = [rules.port] + (rules.rtmps.map { [$0.port] } ?? [])
        for host in hosts {
            for port in ports {
                let place = "\(host):\(port)/\(request.application)/\(request.name)"
                if let holder = holder(of: place) { return holder }
            }
        }
        return nil
    }
}
