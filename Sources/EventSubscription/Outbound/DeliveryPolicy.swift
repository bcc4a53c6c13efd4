import MixModel

/// How hard it is tried to deliver a message, and when it is given up.
public struct DeliveryPolicy: Hashable, Sendable {
    /// Of one attempt: looking up, connecting, the whole answer.
    public var timeLimit: Duration = .seconds(5)
    /// Messages of one endpoint on their way at once, each of another room.
    public var concurrency = 8
    /// After the first failure a message is sent again at once. After the second one it waits this long, then twice as
    /// long each time.
    public var shortestDelay: Duration
    public var longestDelay: Duration
    /// Part of a delay by which it is shorter or longer at random, 0…1.
    public var jitter = 0.2
    /// A message that fails when it is this old is given up.
    public var giveUpAfter: Duration
    /// Failures one after another, of whatever messages, that open the circuit of an endpoint.
    public var failuresToOpen = 5
    /// How long nothing is sent then; twice as long each time that one message, sent to try it, fails.
    public var shortestBreak: Duration
    public var longestBreak: Duration

    public init(
        shortestDelay: Duration, longestDelay: Duration, giveUpAfter: Duration, shortestBreak: Duration,
        longestBreak: Duration
    ) {
        self.shortestDelay = shortestDelay
        self.longestDelay = longestDelay
        self.giveUpAfter = giveUpAfter
        self.shortestBreak = shortestBreak
        self.longestBreak = longestBreak
    }

    /// 5 s, 10 s … 5 min; for a day.
    public static let own = DeliveryPolicy(
        shortestDelay: .seconds(5), longestDelay: .seconds(300), giveUpAfter: .seconds(86_400),
        shortestBreak: .seconds(5), longestBreak: .seconds(60))

    /// As neighbouring services are known to do it: every 10 s until the message is a minute old.
    public static let compatible = DeliveryPolicy(
        shortestDelay: .seconds(10), longestDelay: .seconds(10), giveUpAfter: .seconds(60),
        shortestBreak: .seconds(10), longestBreak: .seconds(10))

    public static func standard(for kind: Subscription.Kind) -> DeliveryPolicy { kind == .own ? own : compatible }

    /// What follows of a failure.
    ///
    /// - Parameters:
    ///   - attempt: 1 for the first.
    ///   - age: Since the message was to be delivered.
    ///   - asked: How long the receiver asks to be left alone; heeded up to the longest delay.
    ///   - random: 0..<1.
    /// - Returns: How long to wait; `nil` = give up.
    public func delay(after attempt: Int, age: Duration, asked: Duration? = nil, random: Double) -> Duration? {
        guard age < giveUpAfter else { return nil }
        if attempt <= 1, asked == nil { return .zero }
        var delay = shortestDelay
        for _ in 0..<max(attempt - 2, 0) where delay < longestDelay { delay *= 2 }
        delay = min(delay, longestDelay) * (1 - jitter + 2 * jitter * random)
        return max(delay, min(asked ?? .zero, longestDelay))
    }
}
