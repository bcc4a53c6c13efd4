/// Durations of the parts of a page's start. Pure; times in ns.
struct StartReport: Sendable {
    enum Mark: String, Sendable {
        /// Display, sound server and browser are running, and the capture is set up.
        case processes
        /// The browser can be controlled.
        case browser
        /// The server has answered with the page.
        case loaded, painted
        case idle = "network idle"
    }

    private var begun: Int64?
    private var marks: [(mark: Mark, at: Int64)] = []

    init() {}

    /// Restarts the report with a page that is to be shown.
    mutating func begin(at now: Int64) {
        begun = now
        marks = []
    }

    /// Records a mark; only its first time counts.
    ///
    /// Before the server has answered, the browser paints its own empty document and has an idle network, neither of
    /// which says anything about the page (`PageMachine` does not count them either).
    mutating func note(_ mark: Mark, at now: Int64) {
        guard begun != nil, !has(mark) else { return }
        guard has(.loaded) || mark != .painted && mark != .idle else { return }
        marks.append((mark, now))
    }

    private func has(_ mark: Mark) -> Bool { marks.contains { $0.mark == mark } }

    /// Returns how long each part took, for operators, and ends the report; `nil` if no report was begun.
    mutating func end(at now: Int64) -> String? {
        guard let begun else { return nil }
        defer { self = StartReport() }
        let parts = marks.map { "\($0.mark.rawValue) after \(Self.seconds($0.at - begun))" }
        return "on air after \(Self.seconds(now - begun))" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    private static func seconds(_ time: Int64) -> String {
        let hundredths = max(time, 0) / 10_000_000
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
}

extension StartReport.Mark {
    /// Creates the mark of an event; `nil` if the event marks nothing.
    init?(_ event: Browser.Event) {
        switch event {
        case .ready: self = .browser
        case .loaded: self = .loaded
        case .painted: self = .painted
        case .networkIsIdle: self = .idle
        default: return nil
        }
    }
}
