import MixModel

/// What the configuration says about publishers over WebRTC.
package struct WebRTCRules: Sendable {
    /// A server that clients may use to be reached.
    package struct ICEServer: Hashable, Sendable {
        /// `stun:host:port` or `turn:host:port`.
        package var url: String
        package var user: String?
        /// Secret.
        package var password: String?

        package init(url: String, user: String? = nil, password: String? = nil) {
            self.url = url
            self.user = user
            self.password = password
        }
    }

    package var network: WebRTCNetwork
    /// What clients are told of STUN and TURN.
    package var iceServers: [ICEServer]
    /// Bit rate in bit/s at which senders are asked to begin; `nil` leaves it to them.
    package var startBitRate: Int?
    /// Seconds without a packet after which a publisher counts as gone.
    package var silence: Double
    package var limits: WebRTCLimits

    package static let silences = 1.0...60.0
    package static let bitRates = 100_000...50_000_000

    package init(
        network: WebRTCNetwork = WebRTCNetwork(), iceServers: [ICEServer] = [], startBitRate: Int? = 2_500_000,
        silence: Double = 3, limits: WebRTCLimits = WebRTCLimits()
    ) {
        self.network = network
        self.iceServers = iceServers
        self.startBitRate = startBitRate
        self.silence = silence
        self.limits = limits
    }
}

/// How many publishers may be there over WebRTC. Each is a process.
package struct WebRTCLimits: Hashable, Sendable {
    package var all: Int
    package var perApp: Int
    /// Of one address, which may be a proxy's.
    package var perAddress: Int

    package init(all: Int = 64, perApp: Int = 64, perAddress: Int = 64) {
        self.all = all
        self.perApp = perApp
        self.perAddress = perAddress
    }
}
