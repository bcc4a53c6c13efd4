import TextFormats

/// Counts connections, so that strangers cannot take the places of publishers, or of relays. Pure.
struct ConnectionBook: Sendable {
    struct Limits: Hashable, Sendable {
        /// Connections in all.
        var all = 2048
        /// Connections of addresses that are not loopback: the rest is for relays.
        var remote = 1536
        /// Connections of one address. Loopback addresses are not counted, because relays and proxies have them, nor are
        /// relays of other nodes (`recognise`).
        var perAddress = 64
        /// Connections of other machines that neither publish nor play yet. The oldest of them makes way for a new one.
        var undecided = 256
        /// Whether loopback addresses have no limits but that of all connections, because relays and proxies have them.
        var exemptsLoopback = true
    }

    enum Entrance: Hashable, Sendable {
        case taken
        /// There is a place as soon as the oldest undecided connection of another machine is closed.
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
    /// Number of addresses that are remembered.
    var addresses: Int { perAddress.count }

    /// Takes a place for a connection, if there is one.
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

    /// Notes that a connection publishes or plays.
    mutating func decide(_ address: InternetAddress) {
        if isCounted(address) { undecided -= 1 }
    }

    /// Notes that a connection is that of a relay, which no longer counts among those of its address: all relays of
    /// another node of a cluster have the same one. `leave` has to be told.
    mutating func recognise(_ address: InternetAddress) {
        guard isCounted(address) else { return }
        undecided -= 1
        leaveRemote(address)
    }

    /// Whether connections of the address have limits of their own.
    func isCounted(_ address: InternetAddress) -> Bool { !limits.exemptsLoopback || !address.isLoopback }

    /// - Parameters:
    ///   - wasDecided: Whether `decide` was called for the connection.
    ///   - isRelay: Whether `recognise` was.
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
