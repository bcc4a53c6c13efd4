import MixModel
import ProgramSplicer
import Testing

@testable import ProgramRelay

@Suite struct DecisionBasisTests {
    private static let feeds = DecisionBasis.Feeds(onAir: .source("ann/camera"), target: .source("ann/camera"))
    private static let fact = ProgramDirector.SourceFact(isDecodable: true, isSilent: false, hasVideo: true)

    @Test func nothingWasDecidedAtFirst() {
        let basis = DecisionBasis()
        #expect(!basis.holds(with: DecisionBasis.Feeds()))
        #expect(!basis.holds(with: Self.fact, of: "ann/camera"))
    }

    @Test func aDecisionStandsUntilAFactOrAFeedChanges() {
        var basis = DecisionBasis()
        basis.take(Self.feeds, ["ann/camera": Self.fact])
        #expect(basis.holds(with: Self.feeds) && basis.holds(with: Self.fact, of: "ann/camera"))
        #expect(!basis.holds(with: Self.fact, of: "bob/camera"))
        for path in [
            \ProgramDirector.SourceFact.isDecodable, \.isSilent, \.hasVideo, \.isConnected, \.isSettled, \.hasKeyframe,
        ] {
            var fact = Self.fact
            fact[keyPath: path].toggle()
            #expect(!basis.holds(with: fact, of: "ann/camera"))
        }
        for path in [\DecisionBasis.Feeds.mixer, \.outgoingMixer, \.spareMixer] {
            var feeds = Self.feeds
            feeds[keyPath: path] = 1
            #expect(!basis.holds(with: feeds))
        }
        for path in [\DecisionBasis.Feeds.onAir, \.target, \.heard] {
            var feeds = Self.feeds
            feeds[keyPath: path] = .mixer(1)
            #expect(!basis.holds(with: feeds))
        }
    }
}
