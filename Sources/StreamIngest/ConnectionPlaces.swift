import TextFormats

/// Counts connections, so that untrusted clients cannot take the places of publishers or relays. Pure.
struct ConnectionPlaces: Sendable {
    struct Limits: Hashable, Sendable {
        /// Largest number of connections in total.
        var all = 2048
        /// Largest number of connections from addresses other than loopback; the rest is for relays.
        var remote = 1536
        /// Largest number of connections from one address. Loopback addresses are not counted, because relays and
        /// proxies use them, and neither are relays of other nodes (`recognise`).
        var perAddress = 64
        /// Largest number of connections from other machines that neither publish nor play yet. The oldest one is
        /// closed to admit a new one.
        var undecided = 256
        /// Whether only the total limit applies to loopback addresses, because relays and proxies use them.
        var exemptsLoopback = true
    }

    enum Entrance: Hashable, Sendable {
        case taken
        /// A place becomes free once the oldest undecided connection from another machine is closed.
        case crowded
        case full
    }

    let limits: Limits
    private var perAddress: [InternetAddress: Int] = [:]
    private var all = 0
    private var remote = 0
    private var undecided = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    var count: Int { all }
    /// Number of remembered addresses.
    var addresses: Int { perAddress.count }

    /// Reserves a place for a connection, if one is free.
    mutating func enter(_ address: InternetAddress) -> Entrance {
        guard all < limits.all else { return .full }
        if isCounted(address) {
            guard remote < limits.remote, perAddress[address, default: 0] < limits.perAddress else { return .full }
            guard undecided < limits.undecided else { return .crowded }
            remote += 1
            undecided += 1
            perAddress[address, default: 0] += 1
        }
        all += 1
        return .taken
    }

    /// Records that a connection publishes or plays.
    mutating func decide(_ address: InternetAddress) {
        if isCounted(address) { undecided -= 1 }
    }

    /// Records that a connection belongs to a relay. It no longer counts for its address, because all relays of another
    /// node of a cluster have the same address. Pass this to `leave`.
    mutating func recognise(_ address: InternetAddress) {
        guard isCounted(address) else { return }
        undecided -= 1
        leaveRemote(address)
    }

    /// Returns whether connections of the address have limits of their own.
    func isCounted(_ address: InternetAddress) -> Bool { !limits.exemptsLoopback || !address.isLoopback }

    /// - Parameters:
    ///   - wasDecided: Whether `decide` was called for the connection.
    ///   - isRelay: Whether `recognise` was called for it.
    mutating func leave(_ address: InternetAddress, wasDecided: Bool, isRelay: Bool = false) {
        all -= 1
        guard !isRelay, isCounted(address) else { return }
        if !wasDecided { undecided -= 1 }
        leaveRemote(address)
    }

    private mutating func leaveRemote(_ address: InternetAddress) {
        remote -= 1
        perAddress[address, default: 1] -= 1
        if perAddress[address] == 0 { perAddress[address] = nil }
    }
}
