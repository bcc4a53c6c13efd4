import MixModel
import ProgramSplicer

/// What a relay's decision was made from last, besides the plan and the passing of time. Pure.
///
/// A packet or a mixed frame that changes nothing of it cannot change the decision. What time alone changes is looked at
/// with every tick, and a decision follows every plan, every end of a source's connection and every end of a mixer.
struct DecisionBasis {
    /// The program's feeds, and the generations of its mixers.
    struct Feeds: Hashable {
        var onAir: SpliceInput?
        var target: SpliceInput?
        /// The feed whose sound is on air.
        var heard: SpliceInput?
        var mixer: Int?
        var outgoingMixer: Int?
        var spareMixer: Int?
        var twin: Int?
    }

    private var feeds: Feeds?
    private var facts: [SourceID: ProgramDirector.SourceFact] = [:]

    /// Notes what a decision is made from, before it changes the feeds itself.
    mutating func take(_ feeds: Feeds, _ facts: [SourceID: ProgramDirector.SourceFact]) {
        self.feeds = feeds
        self.facts = facts
    }

    /// Whether the decision still stands with these feeds.
    func holds(with feeds: Feeds) -> Bool { self.feeds == feeds }

    /// Whether the decision still stands with this fact of a source.
    func holds(with fact: ProgramDirector.SourceFact, of source: SourceID) -> Bool { facts[source] == fact }
}
