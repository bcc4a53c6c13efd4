/// A report from a consumer's process to its relay. One JSON object a line.
protocol ConsumerReport: Decodable, Sendable {
    /// Reason why the process cannot go on and a restart cannot help (a full disk …), in words for operators; `nil`
    /// while it can.
    var finalFailure: String? { get }
}
