/// The result of one check.
package struct Finding: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        case good = "ok  "
        /// The checked thing works, but may not be what the operator expects.
        case note = "note"
        case bad = "FAIL"
    }

    package var verdict: Verdict
    /// Description of the result, with the remedy if it is not good.
    package var text: String

    package var isGood: Bool { verdict != .bad }

    package init(verdict: Verdict, text: String) {
        self.verdict = verdict
        self.text = text
    }

    package init(isGood: Bool, text: String) { self.init(verdict: isGood ? .good : .bad, text: text) }
}
