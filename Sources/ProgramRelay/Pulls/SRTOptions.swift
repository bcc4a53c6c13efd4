import EncodedMedia

/// The address and the options of an `srt://` URL of a pull or an output.
struct SRTOptions: Hashable, Sendable {
    /// The side that initiates the connection.
    enum Mode: String, Hashable, Sendable {
        case caller, listener, rendezvous
    }

    /// A property of GStreamer's SRT elements.
    struct Property: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// The time for retransmitting lost packets if nothing else is wanted.
    static let standardLatency = MediaTime.milliseconds(125)

    let mode: Mode
    /// Time in ms for retransmitting lost packets, which is also the receiver's delay.
    let latency: Int
    /// The properties in the order in which they must be set.
    private(set) var properties: [Property]

    /// - Parameter standard: Time for retransmitting lost packets if the URL names none.
    /// - Throws: `PullEnd` of kind `.badURL`, without secrets.
    init(_ address: PullAddress, latency standard: MediaTime = SRTOptions.standardLatency) throws(PullEnd) {
        guard let port = address.port else { throw PullEnd(.badURL, "an SRT URL needs a port: srt://host:9000") }
        guard ["", "/"].contains(address.path) else {
            throw PullEnd(.badURL, "an SRT URL has no path: name the stream with ?streamid=")
        }
        let options = try address.options(["mode", "passphrase", "pbkeylen", "streamid", "latency"])
        guard let mode = Mode(rawValue: options["mode"] ?? "caller") else {
            throw PullEnd(.badURL, "mode in the URL must be caller, listener or rendezvous")
        }
        guard mode != .listener || (address.isLiteral && !address.isEveryAddress) else {
            throw PullEnd(.badURL, "an SRT listener needs an address of this machine, not a name or 0.0.0.0")
        }
        self.mode = mode
        latency = try options.number("latency", in: 20...8000, else: Int(clamping: standard.roundedMilliseconds))
        properties = [
            Property(name: "uri", value: "srt://\(address.spelledHost):\(port)?mode=\(mode.rawValue)"),
            Property(name: "latency", value: "\(latency)"),
        ]
        // Both sides use the same port.
        if mode == .rendezvous { properties.append(Property(name: "localport", value: "\(port)")) }
        if let passphrase = options["passphrase"] {
            // haicrypt's limits (SRT API, SRTO_PASSPHRASE).
            guard 10...79 ~= passphrase.utf8.count else {
                throw PullEnd(.badURL, "the passphrase in the URL must have 10 to 79 bytes")
            }
            properties.append(Property(name: "passphrase", value: passphrase))
            guard ["16", "24", "32"].contains(options["pbkeylen"] ?? "16") else {
                throw PullEnd(.badURL, "pbkeylen in the URL must be 16, 24 or 32")
            }
            properties.append(Property(name: "pbkeylen", value: options["pbkeylen"] ?? "16"))
        }
        if let stream = options["streamid"] {
            guard stream.utf8.count <= 512 else {
                throw PullEnd(.badURL, "streamid in the URL must have at most 512 bytes")
            }
            properties.append(Property(name: "streamid", value: stream))
        }
    }
}
