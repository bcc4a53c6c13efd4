import EventSubscription
import HTTPInterface
import MixModel
import RoomService
import TextFormats

/// The settings under `ingest`. The server is on if `ingest.rtmp.listen` names an address.
struct IngestConfiguration: Sendable {
    var rules: IngestRules
    var names: NamePatterns
    /// Keys of signed URLs.
    var signatures: PlaybackAccess
    /// Whether players are accepted.
    var allowsPlay: Bool
    /// The hook to ask before a publisher is accepted, if any.
    var hook: PublishHook?
    /// Problems that do not prevent the service from starting but should be fixed.
    var warnings: [String] = []

    /// Server and stream key to enter in a publisher's program, in words.
    private(set) var invitation = ""

    private enum Play: String, CaseIterable { case on, off }

    /// - Parameters:
    ///   - callbacks: Addresses that may be called.
    ///   - node: The cluster's settings, if the service is part of one.
    ///   - file: The configuration file, whose permissions are checked when it holds a key.
    /// - Returns: `nil` if the server is off.
    init?(
        _ values: ConfigurationValues, apps: AppSettings, callbacks: AllowList, node: ClusterSettings?, file: String?
    ) throws(StartupError) {
        var keys: [String] = []
        var holder = PlaybackSettings()
        for name in ["ingest.key", "ingest.secondaryKey"] {
            if let key = try holder.key(name, values, file: file) { keys.append(key) }
        }
        let hook = try Self.hook(values, callbacks, &holder, file: file)
        self.hook = hook
        warnings = holder.warnings
        let place = try Self.advertised(values, node)
        guard let text = values.text("ingest.rtmp.listen") else {
            try Self.checkOff(values, place, hasKeys: !keys.isEmpty)
            return nil
        }
        let address = try ListenAddress(text, key: "ingest.rtmp.listen", hasTokens: true)
        try Self.check(address, text, "ingest.rtmp.listen", isClosed: !keys.isEmpty || !apps.tokens.isEmpty)
        rules = IngestRules(host: address.host, port: address.port)
        if let node {
            rules.advertised = IngestPlace.advertised(
                asked: place, listening: IngestPlace(host: address.host, port: address.port), nodeHost: node.host)
            if rules.advertised == nil {
                warnings.append(
                    "ingest.rtmp.listen: only this machine reaches \(address): streams that are published here serve rooms of "
                        + "this node alone, and rooms that move lose them. Listen on an address that the other nodes reach, "
                        + "or name it with ingest.rtmp.advertise")
            }
        }
        let pattern = values.list("ingest.patterns").first ?? NamePatterns.standardPattern
        invitation = "/live of rtmp://\(address) with the stream key \(pattern)"
        rules.rtmps = try Self.rtmps(values, address, isClosed: !keys.isEmpty || !apps.tokens.isEmpty)
        rules.takeover = try values.choice("ingest.takeover") ?? rules.takeover
        rules.grace = try values.number("ingest.grace", in: IngestRules.graces) ?? rules.grace
        signatures = PlaybackAccess(
            keys: keys, validity: try values.integer("ingest.validity", in: 0...31_536_000) ?? 0)
        let play: Play? = try values.choice("ingest.play")
        allowsPlay = play == .on
        let tenant = values.text("ingest.app").map { AppID($0) }
        if let tenant, tenant != .standard, !apps.ids.contains(tenant) {
            throw Self.wrong("ingest.app", "\"\(tenant)\"", "one of the apps that are configured under apps")
        }
        do {
            names = try NamePatterns(
                values.list("ingest.patterns"), allowsArguments: try values.flag("ingest.arguments") ?? false,
                tenant: tenant, tenants: apps.ids)
        } catch let error as InputError {
            throw Self.wrong("ingest.\(error.field)", error.found ?? "nothing", error.expected)
        } catch let error as StartupError {
            throw error
        } catch {
            throw StartupError("\(error)")
        }
    }

    /// Checks that a configuration without `ingest.rtmp.listen` has nothing that needs it.
    private static func checkOff(
        _ values: ConfigurationValues, _ place: IngestPlace?, hasKeys: Bool
    ) throws(StartupError) {
        guard place == nil else {
            throw wrong("ingest.rtmp.advertise", "a place without ingest.rtmp.listen", "both, or none of them")
        }
        guard values.text("ingest.rtmps.listen") == nil else {
            throw wrong(
                "ingest.rtmps.listen", "RTMPS without ingest.rtmp.listen",
                "both, because relays pull over RTMP; ingest.rtmp.listen: 127.0.0.1:1935 is for them alone")
        }
        guard !hasKeys else {
            throw wrong(
                "ingest.key", "a key without ingest.rtmp.listen", "both, as in ingest.rtmp.listen: 127.0.0.1:1935")
        }
    }

    /// Reads `ingest.rtmp.advertise`.
    private static func advertised(
        _ values: ConfigurationValues, _ node: ClusterSettings?
    ) throws(StartupError) -> IngestPlace? {
        let key = "ingest.rtmp.advertise"
        guard let text = values.text(key) else { return nil }
        guard let place = IngestPlace(text) else {
            throw wrong(key, "\"\(text)\"", "host:port at which the other nodes reach the ingest, as in 10.0.0.1:1935")
        }
        guard node != nil else {
            throw wrong(key, "a place without node.url", "both: a service that is alone needs no such place")
        }
        return place
    }

    private static func check(
        _ address: ListenAddress, _ text: String, _ key: String, isClosed: Bool
    ) throws(StartupError) {
        guard address.port > 0, address.isNumeric || address.host == "localhost" else {
            throw wrong(key, "\"\(text)\"", "an IP address and a port, as in 127.0.0.1:1935")
        }
        guard address.isLoopback || isClosed else {
            throw StartupError(
                "\(key): refusing to listen on \(text): without a key or tokens anyone who reaches that "
                    + "address could publish into every room. Set ingest.keyFile, configure tokens with the scope publish "
                    + "under apps, or listen on 127.0.0.1 or [::1]")
        }
    }

    /// Reads `ingest.rtmps`.
    private static func rtmps(
        _ values: ConfigurationValues, _ plain: ListenAddress, isClosed: Bool
    ) throws(StartupError) -> IngestTLS? {
        let name = "ingest.rtmps"
        let files = ["certificate", "key"].map { ("\(name).\($0)", values.text("\(name).\($0)")) }
        guard let text = values.text("\(name).listen") else {
            if let (key, _) = files.first(where: { $0.1 != nil }) {
                throw wrong("\(name).listen", "\(key) without it", "an IP address and a port, as in 0.0.0.0:443")
            }
            return nil
        }
        let address = try ListenAddress(text, key: "\(name).listen", hasTokens: true)
        try check(address, text, "\(name).listen", isClosed: isClosed)
        guard address.port != plain.port else {
            throw wrong("\(name).listen", "the port of ingest.rtmp.listen", "another port")
        }
        guard let certificate = files[0].1, let key = files[1].1 else {
            let missing = files.first { $0.1 == nil }?.0 ?? name
            throw wrong(missing, "nothing", "the path of a PEM file")
        }
        return IngestTLS(
            host: address.host, port: address.port, certificate: OrchestratorConfiguration.absolute(certificate),
            key: OrchestratorConfiguration.absolute(key))
    }

    /// Reads `ingest.onPublish`.
    private static func hook(
        _ values: ConfigurationValues, _ allowed: AllowList, _ holder: inout PlaybackSettings, file: String?
    ) throws(StartupError) -> PublishHook? {
        let name = "ingest.onPublish"
        let secret = try holder.key("\(name).secret", values, file: file)
        let timeout = try values.number("\(name).timeout", in: PublishHook.timeouts)
        guard let text = values.text("\(name).url") else {
            guard secret == nil, timeout == nil else {
                throw wrong("\(name).url", "nothing", "the URL of the server that is asked about publishers")
            }
            return nil
        }
        guard secret.map({ WebhookSignature.key(of: $0) != nil }) ?? true else {
            throw wrong(
                "\(name).secret", "another text", "\(WebhookSignature.prefix) followed by 24 to 64 bytes in Base64")
        }
        do throws(InputError) {
            let url = try allowed.check(
                text, schemes: [.http, .https], field: "\(name).url", setting: "callbacks.allow")
            return PublishHook(url: url, timeout: timeout ?? PublishHook.standardTimeout, secret: secret)
        } catch {
            throw wrong(error.field, error.found.map { "\"\($0)\"" } ?? "another text", error.expected)
        }
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
