import HTTPInterface
import RoomService
import TextFormats

extension TurnServers {
    private static let mostServers = 8
    /// Bytes of passwords, which are those of other servers and may be short, and of shared secrets.
    private static let passwordLengths = 1...256

    /// Reads `webrtc.turn`.
    ///
    /// - Parameters:
    ///   - holder: Gets a warning if others may read a file that holds a secret.
    ///   - file: The configuration file.
    /// - Returns: `nil` if no server is configured.
    init?(
        _ values: ConfigurationValues, _ holder: inout PlaybackSettings, file: String?
    ) throws(StartupError) {
        let password = try holder.key(
            "webrtc.turn.password", values, file: file, lengths: Self.passwordLengths)
        let secret = try holder.key("webrtc.turn.secret", values, file: file, lengths: Self.passwordLengths)
        let user = values.text("webrtc.turn.user")
        let validity = try values.integer("webrtc.turn.validity", in: Self.validities)
        let expected = "turn:host:port, as in turn:turn.example:3478 or turns:turn.example:443?transport=tcp"
        guard let text = values.text("webrtc.turn.url") else {
            guard password == nil, user == nil, secret == nil, validity == nil else {
                throw WebRTCConfiguration.wrong("webrtc.turn.url", "nothing", expected)
            }
            return nil
        }
        let servers = text.split(separator: ",").map { Server($0.trimmingCharacters(in: .whitespaces)) }
        guard 1...Self.mostServers ~= servers.count, !servers.contains(where: { $0 == nil }) else {
            throw WebRTCConfiguration.wrong(
                "webrtc.turn.url", "another text", "\(expected); at most \(Self.mostServers), separated by commas")
        }
        self.init(
            servers.compactMap(\.self),
            access: try Self.access(user: user, password: password, secret: secret, validity: validity))
    }

    private static func access(
        user: String?, password: String?, secret: String?, validity: Int?
    ) throws(StartupError) -> Access {
        if let secret {
            guard user == nil, password == nil else {
                throw WebRTCConfiguration.wrong(
                    "webrtc.turn.secret", "it beside user or password",
                    "either the secret, of which names and passwords are made, or user and password")
            }
            return .secret(secret, validity: validity ?? 86_400)
        }
        guard validity == nil else {
            throw WebRTCConfiguration.wrong(
                "webrtc.turn.validity", "it without webrtc.turn.secret", "both, because passwords do not expire")
        }
        guard let user, let password else {
            throw WebRTCConfiguration.wrong(
                "webrtc.turn.\(user == nil ? "user" : "password")", "nothing",
                "user and password (or passwordFile) of the TURN server, or the secret (or secretFile) that it shares")
        }
        let isWord = user.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") } && user.utf8.count <= 128
        guard isWord else {
            throw WebRTCConfiguration.wrong(
                "webrtc.turn.user", "another text", "1 to 128 ASCII characters without spaces")
        }
        return .password(user: user, password: password)
    }
}

extension TurnServers.Server {
    /// Reads `turn:host:port` or, over TLS, `turns:host:port`, with or without `?transport=` (RFC 7065 §3.1).
    fileprivate init?(_ text: String) {
        let isSecured = text.startsInUTF8(with: "turns:")
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let transports = isSecured ? ["transport=tcp"] : ["transport=udp", "transport=tcp"]
        guard let place = WebRTCConfiguration.place(parts[0], scheme: isSecured ? "turns" : "turn"),
            parts.count == 1 || transports.contains(parts[1])
        else { return nil }
        self.init(isSecured: isSecured, place: parts.count == 1 ? place : "\(place)?\(parts[1])")
    }
}
