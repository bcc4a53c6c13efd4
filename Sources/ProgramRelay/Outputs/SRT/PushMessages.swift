/// What `mixworker push` is told. The first line that it reads, because a URL may hold a passphrase, which arguments of a process
/// must not.
struct PushSettings: Hashable, Codable, Sendable {
    /// URL, with a checked address in place of its host.
    var url: String
}

/// What `mixworker push` tells its relay, as lines of JSON.
enum PushReport: Hashable, Codable, Sendable {
    /// Bytes of the program, as FLV, that the connection has taken so far.
    case taken(bytes: Int64)
    /// The last report.
    case failed(isRefusal: Bool, words: String)
}
