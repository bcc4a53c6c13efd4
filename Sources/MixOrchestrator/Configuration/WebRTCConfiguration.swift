import Foundation
import HTTPInterface
import MixModel
import RoomService
import TextFormats

/// The settings under `webrtc`. Publishing and playing are enabled by `webrtc.whip` and `webrtc.whep`.
struct WebRTCConfiguration: Sendable {
    let takesPublishers: Bool
    let takesViewers: Bool
    var rules: WebRTCRules
    var viewerLimits = WebRTCViewerLimits()
    /// Web pages that may publish and play.
    var origins = PlaybackOrigins.none
    /// Problems that do not prevent the service from starting but should be fixed.
    var warnings: [String] = []

    private enum Switch: String, CaseIterable { case on, off }
    private static let mostAddresses = 16

    /// - Parameters:
    ///   - apps: The apps that share the places of viewers.
    ///   - file: The configuration file, whose permissions are checked if it contains a password.
    /// - Returns: `nil` if WHIP and WHEP are off.
    init?(
        _ values: ConfigurationValues, apps: AppSettings, ingest: IngestConfiguration?, file: String?
    ) throws(StartupError) {
        let whip: Switch? = try values.choice("webrtc.whip")
        let whep: Switch? = try values.choice("webrtc.whep")
        takesPublishers = whip == .on
        takesViewers = whep == .on
        let network = try Self.network(values)
        var holder = PlaybackSettings()
        let bitRate = try values.integer("webrtc.startBitRate", in: 0...WebRTCRules.bitRates.upperBound)
        if let bitRate, bitRate != 0, !WebRTCRules.bitRates.contains(bitRate) {
            throw Self.wrong(
                "webrtc.startBitRate", "\"\(bitRate)\"",
                "bit/s, \(WebRTCRules.bitRates.lowerBound)…\(WebRTCRules.bitRates.upperBound), or 0 to leave it to the sender"
            )
        }
        rules = WebRTCRules(network: network, turn: try TurnServers(values, &holder, file: file))
        rules.privateAddresses = try values.choice("webrtc.privateAddresses") ?? rules.privateAddresses
        rules.startBitRate = bitRate == 0 ? nil : bitRate ?? rules.startBitRate
        rules.silence = try values.number("webrtc.silence", in: WebRTCRules.silences) ?? rules.silence
        let places = 1...10_000
        rules.limits.all = try values.integer("webrtc.maxPublishers", in: places) ?? rules.limits.all
        rules.limits.perApp = try values.integer("webrtc.maxPublishersPerApp", in: places) ?? rules.limits.all
        rules.limits.perAddress = try values.integer("webrtc.maxPublishersPerAddress", in: places) ?? rules.limits.all
        rules.limits.apps = apps.sharers
        viewerLimits = try Self.viewerLimits(values, apps: apps.sharers)
        warnings = holder.warnings
        for (isOn, key, limit) in [
            (takesPublishers, "webrtc.maxPublishers", rules.limits.all),
            (takesViewers, "webrtc.maxViewers", viewerLimits.all),
        ] where isOn {
            warnings += [AppShares(places: limit, apps: apps.sharers).warning(about: key)].compactMap(\.self)
        }
        let origins = values.list("webrtc.cors")
        if !origins.isEmpty { self.origins = try PlaybackOrigins(origins, setting: "webrtc.cors") }
        guard takesPublishers || takesViewers else { return nil }
        guard ingest != nil || !takesPublishers else {
            throw Self.wrong(
                "webrtc.whip", "on without ingest.rtmp.listen",
                "both, because publishers over WebRTC are published to the ingest; "
                    + "ingest.rtmp.listen: 127.0.0.1:1935 is for them alone")
        }
    }

    /// Returns notes for operators, shown by `doctor`.
    ///
    /// - Parameter machine: The addresses of the machine's network interfaces.
    func notes(machine: [InternetAddress]) -> [String] {
        let ports =
            rules.network.ports.map { "UDP ports \($0.lowest) to \($0.highest)" } ?? "UDP ports of the system's choice"
        var notes = ["WebRTC: clients connect to \(ports); the firewall has to let them through"]
        let isReachable =
            rules.network.publicAddress != nil || !rules.network.addresses.isEmpty || rules.turn != nil
            || rules.network.stun != nil || machine.contains(where: \.isPublic)
        guard !isReachable else { return notes }
        let cure =
            "set webrtc.publicAddress to the address that clients connect to, or webrtc.turn, or webrtc.privateAddresses: all"
        switch rules.privateAddresses {
        case .none: notes.append("WebRTC: this machine has no public address, so every offer is refused: \(cure)")
        case .local:
            notes.append(
                "WebRTC: this machine has no public address, so only offers of its own network are answered: \(cure)")
        case .all: break
        }
        return notes
    }

    private static func viewerLimits(
        _ values: ConfigurationValues, apps: Set<AppID>
    ) throws(StartupError) -> WebRTCViewerLimits {
        let places = 1...10_000
        var limits = WebRTCViewerLimits(
            all: try values.integer("webrtc.maxViewers", in: places) ?? WebRTCViewerLimits().all, apps: apps)
        limits.perApp = try values.integer("webrtc.maxViewersPerApp", in: places) ?? limits.perApp
        limits.perAddress = try values.integer("webrtc.maxViewersPerAddress", in: places) ?? limits.perAddress
        limits.pullsPerApp = try values.integer("webrtc.maxPullsPerApp", in: places) ?? limits.pullsPerApp
        return limits
    }

    private static func network(_ values: ConfigurationValues) throws(StartupError) -> WebRTCNetwork {
        var network = WebRTCNetwork()
        network.addresses = values.list("webrtc.addresses")
        guard network.addresses.count <= mostAddresses, network.addresses.allSatisfy(isAddress) else {
            throw wrong(
                "webrtc.addresses", "\(network.addresses)", "at most \(mostAddresses) IP addresses of this machine")
        }
        network.publicAddress = values.text("webrtc.publicAddress")
        if let address = network.publicAddress, !isAddress(address) {
            throw wrong("webrtc.publicAddress", "\"\(address)\"", "an IP address, as in 203.0.113.7")
        }
        if let text = values.text("webrtc.ports") {
            let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard ends.count == 2, let lowest = ends[0], let highest = ends[1], 1024 <= lowest, lowest <= highest,
                highest <= 65_535
            else { throw wrong("webrtc.ports", "\"\(text)\"", "a range of UDP ports, as in 50000-50199") }
            network.ports = .init(lowest: lowest, highest: highest)
        }
        if let text = values.text("webrtc.stun") {
            guard let place = place(text, scheme: "stun") else {
                throw wrong("webrtc.stun", "\"\(text)\"", "stun:host:port, as in stun:stun.example:3478")
            }
            network.stun = "stun://\(place)"
        }
        return network
    }

    /// Returns host and port of `scheme:host:port`, with or without `//`.
    static func place(_ text: String, scheme: String) -> String? {
        guard text.startsInUTF8(with: scheme + ":"), text.utf8.count <= 256 else { return nil }
        var rest = text.dropFirst(scheme.count + 1)
        if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0
        else { return nil }
        let host = rest[..<colon]
        let isHost =
            !host.isEmpty
            && host.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-_.:[]".utf8.contains(byte)
            }
        return isHost ? String(rest) : nil
    }

    private static func isAddress(_ text: String) -> Bool {
        var four = in_addr()
        var six = in6_addr()
        return inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1
    }

    static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
