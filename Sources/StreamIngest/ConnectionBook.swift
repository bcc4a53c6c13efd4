import TextFormats

/// Counts connections, so that strangers cannot take the places of publishers, or of relays. Pure.
struct ConnectionBook: Sendable {
    struct Limits: Hashable, Sendable {
        /// Connections in all.
        var all = 2048
        /// Connections of addresses that are not loopback: the rest is for relays.
        var remote = 1536
        /// Connections of one address. Loopback addresses are not counted, because relays and proxies have them.
        var perAddress = 64
        /// Connections that neither publish nor play yet.
        var undecided = 256
    }

    let limits: Limits
    private var perAddress: [InternetAddress: Int] = [:]
    private var all = 0
    private var remote = 0
    private var undecided = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    var count: Int { all }
    /// Number of addresses that are remembered.
    var addresses: Int { perAddress.count }

    /// Takes a place for a connection.
    ///
    /// - Returns: False if there is none, and then the connection has to be closed.
    mutating func enter(_ address: InternetAddress) -> Bool {
        guard all < limits.all, undecided < limits.undecided else { return false }
        if !address.isLoopback {
            guard remote < limits.remote, perAddress[address, default: 0] < limits.perAddress else { return false }
            remote += 1
            perAddress[address, default: 0] += 1
        }
        all += 1
        undecided += 1
        return true
    }

    /// Notes that a connection publishes or plays.
    mutating func decide() { undecided -= 1 }

    /// - Parameter wasDecided: Whether `decide` was called for the connection.
    mutating func leave(_ address: InternetAddress, wasDecided: Bool) {
        all -= 1
        if !wasDecided { undecided -= 1 }
        guard !address.isLoopback else { return }
        remote -= 1
        perAddress[address, default: 1] -= 1
        if perAddress[address] == 0 { perAddress[address] = nil }
    }
}
