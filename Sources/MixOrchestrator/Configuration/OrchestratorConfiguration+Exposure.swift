import EventSubscription
import HTTPInterface
import RoomService

/// Warnings for operators about the access that the settings together block or allow.
extension OrchestratorConfiguration {
    /// Allow-lists that allow nothing, each with the remedy. Empty without tokens, because loopback is then allowed.
    var closedLists: [String] {
        let lists: [(key: String, list: AllowList, effect: String)] = [
            ("sources.allow", sources, "no stream or image can be pulled"),
            ("outputs.allow", outputs, "no program can be pushed"),
            ("callbacks.allow", callbacks, "no webhook can be delivered"),
        ]
        return lists.filter(\.list.allowsNothing).map { key, _, effect in
            "\(key) is empty: \(effect). With tokens an empty list allows nothing; add scheme://host[:port] there, "
                + "including 127.0.0.1 if it is needed"
        }
    }

    /// Settings that expose more than a service with tenants usually wants, each with the remedy.
    var exposures: [String] {
        guard !apps.tokens.isEmpty else { return [] }
        var exposures: [String] = []
        if playback.access.isOpen, !playback.isOpenOnPurpose {
            exposures.append(
                "programs under /live are open to everyone who knows a room's name: set playback.key or "
                    + "playback.keyFile, or playback.access: open to confirm it")
        }
        return exposures
    }

    /// Problems of single parts of the configuration, which should be fixed.
    var faults: [String] {
        let parts: [[String]] = [
            apps.warnings, playback.warnings, hooks.warnings, ingest?.warnings ?? [], webrtc?.warnings ?? [],
            wcs?.warnings ?? [], channel?.warnings ?? [], hundredms?.warnings ?? [], uploads?.warnings ?? [],
            store.warnings, drainWarnings, socketIOWarnings,
        ]
        return Array(parts.joined())
    }

    /// The drain that a service whose relays stay on air does not make.
    private var drainWarnings: [String] {
        guard keepsRelays, let node, node.drain > .zero else { return [] }
        return [
            "node.drainSeconds has no effect with relay.keep or --keep-relays: a service that stops leaves its programs on "
                + "air for its next start, until the lease ends. Leave one of the two out"
        ]
    }

    /// The warning that no connection of Socket.IO is kept for any app.
    private var socketIOWarnings: [String] {
        let sharers = "\(apps.sharers.count) apps, and for clients that have not named theirs"
        let shares = socketIO?.shares(of: apps.sharers)
        return [shares?.warning(about: "socketio.maxSessions", sharers: sharers)].compactMap(\.self)
    }

    /// Warnings about all parts of the configuration, which a service logs when it starts.
    var warnings: [String] { faults + exposures }
}
