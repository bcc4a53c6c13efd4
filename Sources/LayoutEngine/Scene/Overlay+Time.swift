/// The effects of time on overlays: clocks, and `{clock}` and `{countdown}` in texts. Times are in seconds since 1970.
extension Overlay.Content {
    static let clockName = "{clock}"
    static let countdownName = "{countdown}"

    /// Whether the content's look depends on the time.
    public var showsTime: Bool { clock != nil || end != nil }

    /// Returns the first second since which the content has looked as at `time`; `nil` if it always looks the same.
    public func beginning(at time: Int) -> Int? {
        let beginnings = [
            clock.map { $0.format.beginning(of: time, utcOffset: $0.utcOffset) },
            // A countdown that has ended stays the same from then on.
            end.map { min(time, $0) },
        ]
        return beginnings.compactMap { $0 }.max()
    }

    /// Returns the next second after `time` at which the content looks different; `nil` if there is none.
    public func next(after time: Int) -> Int? {
        let changes = [
            clock.map { $0.format.beginning(of: time, utcOffset: $0.utcOffset) + $0.format.period },
            end.flatMap { time < $0 ? time + 1 : nil },
        ]
        return changes.compactMap { $0 }.min()
    }

    /// The clock that the content shows, with its minutes east of UTC: its own, or the `{clock}` of a text.
    private var clock: (format: Overlay.ClockFormat, utcOffset: Int)? {
        switch self {
        case .clock(let format, let utcOffset, _): (format, utcOffset)
        case .text(let text, let style) where text.contains(Self.clockName): (.minutes, style.utcOffset ?? 0)
        case .text, .image, .page: nil
        }
    }

    /// End of the `{countdown}` of a text.
    private var end: Int? {
        if case .text(let text, let style) = self, text.contains(Self.countdownName) { style.until } else { nil }
    }

    /// Returns a text with its names replaced by their values at `time`.
    static func filled(_ text: String, _ style: TextStyle, time: Int) -> String {
        var text = text
        if text.contains(clockName) {
            let clock = Overlay.ClockFormat.minutes.text(time: time, utcOffset: style.utcOffset ?? 0)
            text = text.replacing(clockName, with: clock)
        }
        if let until = style.until, text.contains(countdownName) {
            text = text.replacing(countdownName, with: remaining(until - time))
        }
        return text
    }

    /// Formats the remaining seconds: `0:00`, `12:05`, `1:02:05`, `49:00:00`; never below zero, and at most 999 hours.
    static func remaining(_ seconds: Int) -> String {
        let seconds = min(max(seconds, 0), 999 * 3600 + 3599)
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        let whole = hours > 0 ? "\(hours):\(digits(minutes))" : "\(minutes)"
        return "\(whole):\(digits(seconds % 60))"
    }
}

extension Overlay.ClockFormat {
    /// Time for which a clock stays the same, in seconds.
    fileprivate var period: Int {
        switch self {
        case .time, .dateAndTime: 1
        case .minutes: 60
        case .date: 86_400
        }
    }

    /// Returns the first second since which a clock `utcOffset` minutes east of UTC has shown the same as at `time`.
    fileprivate func beginning(of time: Int, utcOffset: Int) -> Int {
        let local = time + utcOffset * 60
        let rest = local % period
        return time - (rest < 0 ? rest + period : rest)
    }
}
