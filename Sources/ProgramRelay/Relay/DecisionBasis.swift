import MixModel
import ProgramSplicer

/// The facts on which a relay's last decision was based, apart from the plan and the time. Pure.
///
/// A packet or a mixed frame that does not change these facts cannot change the decision. Changes by time alone are
/// checked with every tick, and every plan, every end of a source's connection and every end of a mixer is followed by
/// a decision.
struct DecisionBasis {
    /// The program's feeds, and the generations of its mixers.
    struct Feeds: Hashable {
        var onAir: SpliceInput?
        var target: SpliceInput?
        /// The feed whose audio is on air.
        var heard: SpliceInput?
        var mixer: Int?
        var outgoingMixer: Int?
        var spareMixer: Int?
        var twin: Int?
    }

    private var feeds: Feeds?
    private var facts: [SourceID: ProgramDirector.SourceFact] = [:]

    /// Records the basis of a decision, before the decision itself changes the feeds.
    mutating func take(_ feeds: Feeds, _ facts: [SourceID: ProgramDirector.SourceFact]) {
        self.feeds = feeds
        self.facts = facts
    }

    /// Returns whether the decision still stands with these feeds.
    func holds(with feeds: Feeds) -> Bool { self.feeds == feeds }

    /// Returns whether the decision still stands with this fact of a source.
    func holds(with fact: ProgramDirector.SourceFact, of source: SourceID) -> Bool { facts[source] == fact }
}
