import EncodedMedia
import LayoutEngine
import MixModel

/// Decides which feed a program switches to, from its plan and from what is currently possible.
///
/// A pure value that the relay queries after every change. A plan says what is wanted, but a source may not have
/// connected yet or may have stalled, or a mixer may be failing, and the program must continue nevertheless.
public struct ProgramDirector: Sendable {
    /// The known state of one planned source.
    public struct SourceFact: Hashable, Sendable {
        /// Whether a decoder can start now.
        public var isDecodable: Bool
        /// Whether the source has stalled or is gone.
        public var isSilent: Bool
        /// Whether the source is about to stall.
        public var isSuspect: Bool
        /// Whether the source has delivered for long enough after its stall to go on air again.
        public var isSteady: Bool
        /// Whether the source has video; false while it is known to have audio only, or nothing is known about it.
        public var hasVideo: Bool
        /// Whether the source's server has answered; the first keyframe may still be to come.
        public var isConnected: Bool
        /// Whether the source's timeline is stable enough to be the program's own.
        public var isSettled: Bool
        /// Whether a program can start with the source's cached frames. A decoder can also start with an open group of
        /// pictures, without a keyframe.
        public var hasKeyframe: Bool

        public init(
            isDecodable: Bool, isSilent: Bool, hasVideo: Bool, isConnected: Bool = true, isSettled: Bool = true,
            isSuspect: Bool = false, isSteady: Bool = true, hasKeyframe: Bool = true
        ) {
            self.hasKeyframe = hasKeyframe
            self.isSuspect = isSuspect
            self.isSteady = isSteady
            self.isConnected = isConnected
            self.isSettled = isSettled
            self.isDecodable = isDecodable
            self.isSilent = isSilent
            self.hasVideo = hasVideo
        }

        var canBypass: Bool { isDecodable && isSettled && !isSilent && hasVideo }

        var countingAsSteady: SourceFact {
            var fact = self
            fact.isSteady = true
            return fact
        }

        var countingSound: SourceFact {
            var fact = self
            fact.hasVideo = true
            fact.hasKeyframe = true
            return fact
        }
    }

    /// The feed that the program changes to as soon as a splice allows it.
    public enum Aim: Hashable, Sendable {
        /// No feed: nothing can be shown yet.
        case wait
        case source(SourceID)
        case mixer
    }

    /// The required state of the mixer.
    public enum MixerNeed: Int, Hashable, Comparable, Sendable {
        case none
        /// A process that has already started, so that starting it costs no time later.
        case warm
        /// A mixer that decodes the frames of the host on air, so that it can take over at once. It shows no scene, and
        /// uses only a process that is waiting anyway.
        case ready
        /// A mixer that composes, whether or not viewers see it.
        case running

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// The director's current decision.
    public struct Decision: Hashable, Sendable {
        public var aim: Aim
        public var mixer: MixerNeed
        /// Whether the plan's scene may be shown already; otherwise the previous scene stays.
        public var isSceneReady: Bool
    }

    /// Longest wait of a program for its first source before it begins with a slate.
    public static let firstSourcePatience = MediaTime.seconds(5)
    /// Longest wait of a mix for all its participants to become decodable before it begins without the missing ones.
    public static let panePatience = MediaTime.seconds(3)
    /// Longest time for which a mixer runs for participants who have not connected.
    public static let runAhead = MediaTime.seconds(15)

    public init() {}

    /// - Parameters:
    ///   - age: Time since the plan was applied.
    ///   - isOnAirLost: Whether the mixer on air has died, so that no more frames come from it.
    ///   - isMixerFailing: Whether a mixer has died and the next one is delayed.
    ///   - isMixerSilent: Whether no mixer has delivered anything for so long that a program with a mix on air
    ///     continues without one.
    public func decide(
        plan: ProgramPlan, age: MediaTime, onAir: SpliceInput?, sources: [SourceID: SourceFact],
        isOnAirLost: Bool = false, isMixerFailing: Bool, isMixerSilent: Bool = false
    ) -> Decision {
        let isMixerFailing = isMixerFailing || isMixerSilent && onAir?.isMixer ?? false
        let isSoundAlone = plan.tracks == .audio
        // In a program without video, a source with audio is as good as one with video.
        var sources = isSoundAlone ? sources.mapValues(\.countingSound) : sources
        // If no mixer works, a source that stalls now and then is better than nothing.
        if isMixerFailing { sources = sources.mapValues(\.countingAsSteady) }
        switch plan.mode {
        case .slate:
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .bypass(let source):
            return bypass(
                source, plan: plan, age: age, onAir: onAir, sources: sources, isLost: isOnAirLost && !isMixerFailing)
        case .mix(let host):
            // Cards and the panes of absent participants wait for no source.
            let panes = plan.scene.panes.filter(\.isLive).map { SourceID($0.source) }
            let ready = panes.filter { sources[$0]?.isDecodable ?? false }
            // Before anything is on air, wait for the host's audio: the program adopts its format.
            let isHeard = !panes.isEmpty || onAir != nil || sources[host]?.isConnected ?? false
            let isComplete = ready.count == panes.count && isHeard
            let isEnough = isComplete || (ready.count >= min(2, panes.count) && age > ProgramDirector.panePatience)
            // A participant whose camera is off is not shown, regardless of the content of their stream.
            let canShow = { (id: SourceID) in
                (isSoundAlone || panes.contains(id)) && sources[id]?.canBypass ?? false
            }
            if isMixerFailing, canShow(host) {
                return bypass(host, plan: plan, age: age, onAir: onAir, sources: sources, isLost: false)
            }
            if isEnough || onAir?.isMixer ?? false {
                let isReady = isComplete || age > ProgramDirector.panePatience
                return Decision(aim: .mixer, mixer: .running, isSceneReady: isReady)
            }
            let alone = canShow(host) ? host : ready.first(where: canShow)
            var decision = bypass(alone ?? host, plan: plan, age: age, onAir: onAir, sources: sources, isLost: false)
            // The mixer runs ahead, unseen, while the others connect: the new picture then costs one frame and not the
            // start of a pipeline. It does not run forever for a participant who never connects.
            let isNear = panes.allSatisfy { sources[$0]?.isConnected ?? false }
            let runsAhead = onAir != nil && (isNear || age < ProgramDirector.runAhead)
            decision.mixer = max(decision.mixer, runsAhead ? .running : .none)
            return decision
        }
    }

    private func bypass(
        _ source: SourceID, plan: ProgramPlan, age: MediaTime, onAir: SpliceInput?, sources: [SourceID: SourceFact],
        isLost: Bool
    ) -> Decision {
        let fact = sources[source]
        let canBypass = fact?.canBypass ?? false
        switch onAir {
        case nil:
            // The keyframe may never come: a mix starts without it.
            if canBypass, fact?.hasKeyframe ?? false {
                return Decision(aim: .source(source), mixer: .none, isSceneReady: true)
            }
            let isAudioOnly = fact.map { $0.isDecodable && !$0.hasVideo } ?? false
            guard age > ProgramDirector.firstSourcePatience || isAudioOnly else {
                return Decision(aim: .wait, mixer: .none, isSceneReady: true)
            }
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .source(source):
            let isLost = fact?.isSilent ?? true
            return isLost
                ? Decision(aim: .mixer, mixer: .running, isSceneReady: true)
                : Decision(
                    aim: .source(source), mixer: fact?.isSuspect ?? false ? .ready : .none, isSceneReady: true)
        case .source(let other):
            // Between two participants, a mix bridges the time until the other's next IDR.
            let isOtherLive = sources[other].map { !$0.isSilent } ?? false
            if canBypass, plan.tracks == .audio {
                return Decision(aim: .source(source), mixer: .none, isSceneReady: true)
            }
            if isOtherLive, !canBypass {
                return Decision(aim: .source(other), mixer: .warm, isSceneReady: true)
            }
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .mixer where isLost:
            // The next mixer continues where the last one ended; waiting for the source's keyframe would leave a gap.
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .mixer:
            // A source that has just stalled would make the program switch back and forth.
            let isSteady = fact?.isSteady ?? false
            return Decision(
                aim: canBypass && isSteady ? .source(source) : .mixer, mixer: .running, isSceneReady: true)
        }
    }
}
