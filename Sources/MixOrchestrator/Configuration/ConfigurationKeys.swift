import ChildProcesses
import Configuration
import EventSubscription
import Foundation
import RoomService
import Yams

/// The known keys, and the reader that combines a YAML file with the environment.
enum ConfigurationKeys {
    enum Kind { case scalar, list }

    /// All keys that this version knows.
    static let known: [String: Kind] = [
        "http.listen": .scalar, "http.maxConnections": .scalar, "http.idleTimeout": .scalar,
        "http.requestTimeout": .scalar, "http.rate.requests": .scalar, "http.rate.events": .scalar,
        "http.rate.failures": .scalar, "http.tls.certificateFile": .scalar, "http.tls.keyFile": .scalar,
        "data": .scalar,
        "layouts": .scalar, "worker": .scalar, "store.url": .scalar, "store.passwordFile": .scalar,
        "store.cluster": .scalar,
        "node.id": .scalar, "node.url": .scalar, "node.leaseSeconds": .scalar, "node.maxRooms": .scalar,
        "node.drainSeconds": .scalar, "node.region": .scalar, "node.publicURL": .scalar, "node.viewers": .scalar,
        "sources.allow": .list, "sources.urlTemplate": .scalar, "outputs.allow": .list, "outputs.directory": .scalar,
        "callbacks.allow": .list,
        "rooms.outputs": .list, "media.directory": .scalar,
        "hls.directory": .scalar, "hls.retentionHours": .scalar,
        "rooms.layout": .scalar, "rooms.canvas.width": .scalar, "rooms.canvas.height": .scalar,
        "rooms.canvas.fps": .scalar, "rooms.canvas.follows": .scalar, "rooms.canvas.background": .scalar,
        "relay.orphanTimeout": .scalar,
        "relay.keep": .scalar, "relay.readyMixer": .scalar, "relay.programsPerProcess": .scalar,
        "relay.quantum": .scalar,
        "mixer.encoder": .scalar, "mixer.forkServer": .scalar, "log.level": .scalar,
        "log.format": .scalar,
        "playback.access": .scalar, "playback.key": .scalar, "playback.keyFile": .scalar,
        "playback.secondaryKey": .scalar,
        "playback.secondaryKeyFile": .scalar, "playback.validity": .scalar, "playback.cors": .list,
        "playback.latencyCapMs": .scalar, "playback.maxViewers": .scalar, "playback.maxViewersPerProgram": .scalar,
        "recording.directory": .scalar, "recording.keepFreeBytes": .scalar,
        "upload.endpoint": .scalar, "upload.region": .scalar, "upload.bucket": .scalar, "upload.style": .scalar,
        "upload.prefix": .scalar, "upload.accessKey": .scalar, "upload.secretKey": .scalar,
        "upload.secretKeyFile": .scalar, "upload.credentialsFile": .scalar,
        "upload.backup.credentialsFile": .scalar, "upload.backup.endpoint": .scalar, "upload.backup.region": .scalar,
        "upload.backup.bucket": .scalar, "upload.backup.style": .scalar, "upload.backup.prefix": .scalar,
        "upload.backup.accessKey": .scalar, "upload.backup.secretKey": .scalar,
        "upload.backup.secretKeyFile": .scalar, "upload.partBytes": .scalar, "upload.concurrency": .scalar,
        "upload.bytesPerSecond": .scalar, "upload.maxWaiting": .scalar, "upload.local": .scalar,
        "upload.verify": .scalar, "upload.linkSeconds": .scalar, "upload.scanSeconds": .scalar,
        "upload.retrySeconds": .scalar, "upload.giveUpHours": .scalar, "upload.recordings": .scalar,
        "upload.hls": .scalar, "upload.thumbnails": .scalar,
        "quotas.rooms": .scalar, "quotas.tasks": .scalar, "quotas.subscriptions": .scalar, "quotas.feeds": .scalar,
        "quotas.participants": .scalar, "quotas.publishers": .scalar, "quotas.storedBytes": .scalar,
        "admission.cores": .scalar,
        "admission.utilisation": .scalar, "overload.highestLevel": .scalar,
        "hooks.unmatched": .scalar, "hooks.failClosed": .scalar,
        "ingest.rtmp.listen": .scalar, "ingest.rtmp.advertise": .scalar, "ingest.rtmps.listen": .scalar,
        "ingest.rtmps.certificate": .scalar, "ingest.rtmps.key": .scalar, "ingest.takeover": .scalar,
        "ingest.grace": .scalar, "ingest.play": .scalar,
        "ingest.key": .scalar, "ingest.keyFile": .scalar, "ingest.secondaryKey": .scalar,
        "ingest.secondaryKeyFile": .scalar, "ingest.validity": .scalar, "ingest.patterns": .list,
        "ingest.arguments": .scalar, "ingest.app": .scalar, "ingest.onPublish.url": .scalar,
        "ingest.onPublish.timeout": .scalar, "ingest.onPublish.secret": .scalar,
        "ingest.onPublish.secretFile": .scalar,
        "wcs.enabled": .scalar, "wcs.patterns": .list, "wcs.maxConnections": .scalar,
        "wcs.maxConnectionsPerAddress": .scalar, "wcs.access": .scalar, "wcs.hooks.url": .scalar,
        "wcs.hooks.timeout": .scalar, "wcs.hooks.secret": .scalar, "wcs.hooks.secretFile": .scalar,
        "hundredms.enabled": .scalar, "hundredms.strict": .scalar, "hundredms.meetingURL": .scalar,
        "hundredms.url": .scalar, "hundredms.renditions": .list, "hundredms.maxSeconds": .scalar,
        "hundredms.emptySeconds": .scalar, "hundredms.webhook.url": .scalar, "hundredms.webhook.header": .scalar,
        "hundredms.webhook.secret": .scalar, "hundredms.webhook.secretFile": .scalar,
        "thumbnails.interval": .scalar, "thumbnails.size": .scalar,
        "channel.enabled": .scalar, "channel.userRate": .scalar, "channel.userBurst": .scalar,
        "channel.roomRate": .scalar, "channel.roomBurst": .scalar, "channel.likeNotices": .scalar,
        "channel.maxCharacters": .scalar, "channel.slowMode": .scalar, "channel.words": .list,
        "channel.history": .scalar, "channel.stored": .scalar, "channel.maxChannels": .scalar,
        "channel.idleSeconds": .scalar, "channel.commentSeconds": .scalar,
        "channel.maxViewers": .scalar, "channel.maxViewersPerRoom": .scalar,
        "channel.maxViewersPerAddress": .scalar, "channel.anonymousReading": .scalar,
        "channel.anonymousWriting": .scalar, "channel.key": .scalar, "channel.keyFile": .scalar,
        "channel.validity": .scalar,
        "socketio.enabled": .scalar, "socketio.cors": .list, "socketio.pingInterval": .scalar,
        "socketio.pingTimeout": .scalar, "socketio.connectTimeout": .scalar, "socketio.maxPayload": .scalar,
        "socketio.maxSessions": .scalar, "socketio.maxSessionsPerAddress": .scalar,
        "socketio.acceptMissingVersion": .scalar,
        "webrtc.whip": .scalar, "webrtc.whep": .scalar, "webrtc.maxViewers": .scalar,
        "webrtc.maxViewersPerApp": .scalar, "webrtc.maxViewersPerAddress": .scalar,
        "webrtc.maxPullsPerApp": .scalar,
        "webrtc.addresses": .list, "webrtc.publicAddress": .scalar, "webrtc.privateAddresses": .scalar,
        "webrtc.ports": .scalar,
        "webrtc.stun": .scalar, "webrtc.turn.url": .scalar, "webrtc.turn.user": .scalar,
        "webrtc.turn.password": .scalar, "webrtc.turn.passwordFile": .scalar, "webrtc.turn.secret": .scalar,
        "webrtc.turn.secretFile": .scalar, "webrtc.turn.validity": .scalar, "webrtc.startBitRate": .scalar,
        "webrtc.silence": .scalar, "webrtc.maxPublishers": .scalar, "webrtc.maxPublishersPerApp": .scalar,
        "webrtc.maxPublishersPerAddress": .scalar, "webrtc.cors": .list,
        "pages.enabled": .scalar, "pages.max": .scalar, "pages.warm": .scalar, "pages.user": .scalar,
        "pages.sandbox": .scalar, "pages.requests": .scalar,
        "pages.readyTimeout": .scalar, "pages.cores": .scalar, "pages.freeMemory": .scalar,
        "pages.cpu": .scalar, "pages.niceness": .scalar,
    ].merging(ofHooks) { $1 }.merging(WorkerKind.allCases.map { ("memory.\($0.rawValue)", .scalar) }) { $1 }

    /// The keys of each hook, below `hooks.{name}`.
    private static let ofHooks: [String: Kind] = {
        let keys: [String: Kind] = [
            "secret": .scalar, "secretFile": .scalar, "patterns": .list, "arguments": .scalar, "app": .scalar,
            "url": .scalar, "allow": .list,
        ]
        let ofPolls: [String: Kind] = [
            "poll": .list, "pollSeconds": .scalar, "pollSecret": .scalar, "pollSecretFile": .scalar,
        ]
        let pairs = EventHooks.all.flatMap { hook in
            let all = StreamInventories.of(hook.name) == nil ? keys : keys.merging(ofPolls) { $1 }
            return all.filter { !hook.namesParticipants || !["patterns", "arguments"].contains($0.key) }.map {
                ("hooks.\(hook.name).\($0.key)", $0.value)
            }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()

    /// Returns a reader in which the environment overrides the file.
    ///
    /// - Throws: `StartupError` with file, line and remedy.
    static func reader(
        file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> ConfigReader {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        if let file {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw StartupError("the configuration file \(file) cannot be read: name another with --config")
            }
            values = try parse(String(decoding: data, as: UTF8.self), name: file)
        }
        try check(environment)
        return ConfigReader(providers: [
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "mixorchestrator"),
            InMemoryProvider(name: file ?? "defaults", values: values),
        ])
    }

    static func parse(_ text: String, name: String) throws -> [AbsoluteConfigKey: ConfigValue] {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            throw StartupError("\(name) is not YAML: \(error)")
        }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        guard let root, root.mapping != nil || !isEmpty(root) else { return values }
        guard case .mapping = root else { throw StartupError("\(name): expected keys, as in `data: ./data`") }
        try read(root, path: [], name: name, into: &values)
        return values
    }

    private static func read(
        _ node: Node, path: [String], name: String, into values: inout [AbsoluteConfigKey: ConfigValue]
    ) throws {
        guard case .mapping(let mapping) = node else { return }
        var seen: Set<String> = []
        for (keyNode, value) in mapping {
            let place = "\(name):\(keyNode.mark?.line ?? 0)"
            guard let key = keyNode.string else { throw StartupError("\(place): a key must be a string") }
            let full = (path + [key]).joined(separator: ".")
            guard seen.insert(key).inserted else { throw StartupError("\(place): \(full) appears twice") }
            if full == "apps" {
                try AppKeys.read(value, name: name, into: &values)
                continue
            }
            switch known[full] {
            case .scalar:
                if isEmpty(value) { continue }
                guard let text = value.scalar?.string else {
                    throw StartupError("\(place): \(full): expected a single value")
                }
                values[AbsoluteConfigKey(path + [key])] = ConfigValue(.string(text), isSecret: false)
            case .list:
                // An empty list is not an omitted one: see `ConfigurationValues.isSet`.
                if isEmpty(value), value.sequence == nil { continue }
                let items = try list(value, full, place)
                values[AbsoluteConfigKey(path + [key])] = ConfigValue(.stringArray(items), isSecret: false)
            case nil:
                guard known.keys.contains(where: { $0.hasPrefix(full + ".") }) else { throw unknown(full, place) }
                if isEmpty(value), value.mapping == nil { continue }
                guard case .mapping = value else { throw StartupError("\(place): \(full): expected keys below it") }
                try read(value, path: path + [key], name: name, into: &values)
            }
        }
    }

    /// Returns the items of a list: words, or objects with `id` and `url` as in the API.
    private static func list(_ node: Node, _ key: String, _ place: String) throws -> [String] {
        guard case .sequence(let items) = node else {
            if let text = node.scalar?.string { return [text] }
            throw StartupError("\(place): \(key): expected a list")
        }
        return try items.map { item in
            if let text = item.scalar?.string { return text }
            if key == "rooms.outputs", let url = item["url"]?.scalar?.string {
                return (item["id"]?.scalar?.string).map { "\($0)=\(url)" } ?? url
            }
            throw StartupError("\(place): \(key): expected a list of strings")
        }
    }

    static func isEmpty(_ node: Node) -> Bool {
        switch node {
        case .scalar(let scalar): scalar.string.isEmpty || node.null != nil
        case .mapping(let mapping): mapping.allSatisfy { isEmpty($0.value) }
        case .sequence(let sequence): sequence.isEmpty
        case .alias: false
        }
    }

    private static func unknown(_ key: String, _ place: String) -> StartupError {
        var words = Set(known.keys).union(["apps"])
        for key in known.keys {
            var group = key[...]
            while let dot = group.lastIndex(of: ".") {
                group = group[..<dot]
                words.insert(String(group))
            }
        }
        let suggestion = Suggestion.nearest(to: key, among: words).map { " Did you mean \($0)?" } ?? ""
        let all = (known.keys + ["apps"]).sorted().joined(separator: ", ")
        return StartupError("\(place): \(key) is not a setting.\(suggestion) The settings are: \(all)")
    }

    /// Rejects unknown environment variables, as unknown keys are rejected.
    private static func check(_ environment: [String: String]) throws {
        let prefix = "MIXORCHESTRATOR_"
        var names = Set(known.keys.map { prefix + variable($0) })
        #if DEBUG
            names.insert(CrashingTaskStore.variable)
        #endif
        for name in environment.keys.sorted()
        where name.hasPrefix(prefix) && !names.contains(name) && !AppKeys.isVariable(name.dropFirst(prefix.count)) {
            let suggestion = Suggestion.nearest(to: name, among: names).map { " Did you mean \($0)?" } ?? ""
            throw StartupError("the environment variable \(name) is not a setting.\(suggestion)")
        }
    }

    /// Returns the name of a key's variable without its prefix: `RELAY_ORPHAN_TIMEOUT` for `relay.orphanTimeout`.
    static func variable(_ key: String) -> String {
        var name = ""
        for character in key {
            if character.isUppercase { name += "_" }
            name += character == "." || character == "-" ? "_" : character.uppercased()
        }
        return name.replacing("U_R_L", with: "URL")
    }
}
