import MixModel

/// The policy for delivering messages: limits, delays between attempts, and the time at which a message is given up.
public struct DeliveryPolicy: Hashable, Sendable {
    /// Time limit for one attempt: resolving, connecting and the whole answer.
    public var timeLimit: Duration = .seconds(5)
    /// Maximum number of messages under way to one endpoint, each of a different room.
    public var concurrency = 8
    /// Delay after the second failure of a message, doubled after each further one up to `longestDelay`. After the
    /// first failure the message is sent again at once.
    public var shortestDelay: Duration
    public var longestDelay: Duration
    /// Share by which a delay is randomly shortened or extended, 0…1.
    public var jitter = 0.2
    /// Age at which a message whose delivery fails is given up.
    public var giveUpAfter: Duration
    /// Number of consecutive failures, of any messages, that open the circuit of an endpoint.
    public var failuresToOpen = 5
    /// Time for which an open circuit sends nothing. It doubles up to `longestBreak` each time the one message that is
    /// then sent as a trial fails.
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

    /// Delays of 5 s, 10 s … 5 min, for a day.
    public static let own = DeliveryPolicy(
        shortestDelay: .seconds(5), longestDelay: .seconds(300), giveUpAfter: .seconds(86_400),
        shortestBreak: .seconds(5), longestBreak: .seconds(60))

    /// Delays of 10 s until the message is a minute old, as used by comparable services.
    public static let compatible = DeliveryPolicy(
        shortestDelay: .seconds(10), longestDelay: .seconds(10), giveUpAfter: .seconds(60),
        shortestBreak: .seconds(10), longestBreak: .seconds(10))

    public static func standard(for kind: Subscription.Kind) -> DeliveryPolicy { kind == .own ? own : compatible }

    /// Returns the delay before the next attempt; `nil` means that the message is given up.
    ///
    /// - Parameters:
    ///   - attempt: Number of the attempt that failed, 1 for the first.
    ///   - age: Time since the message was due.
    ///   - asked: Delay requested by the receiver; respected up to the longest delay.
    ///   - random: Random number in 0..<1, for the jitter.
    public func delay(after attempt: Int, age: Duration, asked: Duration? = nil, random: Double) -> Duration? {
        guard age < giveUpAfter else { return nil }
        if attempt <= 1, asked == nil { return .zero }
        var delay = shortestDelay
        for _ in 0..<max(attempt - 2, 0) where delay < longestDelay { delay *= 2 }
        delay = min(delay, longestDelay) * (1 - jitter + 2 * jitter * random)
        return max(delay, min(asked ?? .zero, longestDelay))
    }
}
