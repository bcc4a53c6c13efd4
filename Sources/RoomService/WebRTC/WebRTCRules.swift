import MixModel

/// The configuration of publishers over WebRTC.
package struct WebRTCRules: Sendable {
    /// A STUN or TURN server for clients.
    package struct ICEServer: Hashable, Sendable {
        /// `stun:host:port`, `turn:host:port` or `turns:host:port`.
        package var url: String
        package var user: String?
        /// Password. Secret.
        package var password: String?

        package init(url: String, user: String? = nil, password: String? = nil) {
            self.url = url
            self.user = user
            self.password = password
        }
    }

    /// The clients that learn the machine's private addresses if it has no public ones.
    package enum PrivateAddresses: String, CaseIterable, Sendable {
        case none
        /// Clients on the machine and in its private networks, which know such an address already.
        case local
        case all
    }

    /// The addresses and ports of the service, without the TURN servers.
    package var network: WebRTCNetwork
    package var privateAddresses = PrivateAddresses.local
    package var turn: TurnServers?
    /// Bit rate in bit/s at which senders are asked to begin; `nil` leaves it to them.
    package var startBitRate: Int?
    /// Seconds without a packet after which a publisher counts as gone.
    package var silence: Double
    package var limits: WebRTCLimits

    package static let silences = 1.0...60.0
    package static let bitRates = 100_000...50_000_000

    package init(
        network: WebRTCNetwork = WebRTCNetwork(), turn: TurnServers? = nil, startBitRate: Int? = 2_500_000,
        silence: Double = 3, limits: WebRTCLimits = WebRTCLimits()
    ) {
        self.network = network
        self.turn = turn
        self.startBitRate = startBitRate
        self.silence = silence
        self.limits = limits
    }

    /// Returns the STUN and TURN servers as clients are told them.
    ///
    /// - Parameter now: Seconds since 1970.
    package func iceServers(at now: Int) -> [ICEServer] {
        let stun = network.stun.map { ICEServer(url: $0.replacing("stun://", with: "stun:", maxReplacements: 1)) }
        return [stun].compactMap(\.self) + (turn?.iceServers(at: now) ?? [])
    }

    /// Returns where and how a worker that starts now connects.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - isLocal: Whether the client is local; see `WebRTCClient`.
    package func network(at now: Int, isLocal: Bool = false) -> WebRTCNetwork {
        var network = network
        network.turn = turn?.workerURLs(at: now) ?? []
        network.namesPrivateAddresses = namesPrivateAddresses(isLocal: isLocal)
        return network
    }

    /// Returns whether a client's answer may contain private addresses.
    package func namesPrivateAddresses(isLocal: Bool) -> Bool {
        switch privateAddresses {
        case .none: false
        case .local: isLocal
        case .all: true
        }
    }
}

/// Limits on the number of publishers over WebRTC. Each publisher has its own process.
package struct WebRTCLimits: Hashable, Sendable {
    package var all: Int
    package var perApp: Int
    /// Maximum number from one address, which may be a proxy's.
    package var perAddress: Int
    /// The apps for which places of `all` are kept (`AppShares`).
    package var apps: Set<AppID>

    package init(all: Int = 64, perApp: Int = 64, perAddress: Int = 64, apps: Set<AppID> = [.standard]) {
        self.all = all
        self.perApp = perApp
        self.perAddress = perAddress
        self.apps = apps
    }
}
