import LayoutEngine
import MixModel

/// Decides which feed a program shall go to, from its plan and from what is possible right now.
///
/// Pure: the relay asks it after every change. A plan says what is wanted; a source may not have connected yet, may
/// have stalled, or a mixer may be failing, and the program must go on all the same.
public struct ProgramDirector: Sendable {
    /// What is known of one planned source.
    public struct SourceFact: Hashable, Sendable {
        /// A decoder can begin now.
        public var isDecodable: Bool
        /// It was on air and has been silent for too long, or it is gone.
        public var isSilent: Bool
        /// False while it is known to have sound alone, or nothing is known of it.
        public var hasVideo: Bool
        /// Its server has answered; its first keyframe may still be to come.
        public var isConnected: Bool
        /// Its timeline stands still enough to be the program's own.
        public var isSettled: Bool

        public init(
            isDecodable: Bool, isSilent: Bool, hasVideo: Bool, isConnected: Bool = true, isSettled: Bool = true
        ) {
            self.isConnected = isConnected
            self.isSettled = isSettled
            self.isDecodable = isDecodable
            self.isSilent = isSilent
            self.hasVideo = hasVideo
        }

        var canBypass: Bool { isDecodable && isSettled && !isSilent && hasVideo }

        var countingSound: SourceFact {
            var fact = self
            fact.hasVideo = true
            return fact
        }
    }

    /// What the program shall become as soon as a splice allows it.
    public enum Aim: Hashable, Sendable {
        /// Nothing can be shown yet.
        case wait
        case source(SourceID)
        case mixer
    }

    /// What has to be there of a mixer.
    public enum MixerNeed: Int, Hashable, Comparable, Sendable {
        case none
        /// The process shall be there, so that starting it costs no time.
        case warm
        /// It composes, whether viewers see it or not.
        case running

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// What the director wants right now.
    public struct Decision: Hashable, Sendable {
        public var aim: Aim
        public var mixer: MixerNeed
        /// Whether the plan's scene may be shown already; otherwise the one before it stays.
        public var isSceneReady: Bool
    }

    /// How long a program waits for its first source before it begins with a slate.
    public static let firstSourcePatience = MediaTime.seconds(5)
    /// How long a mix waits for all its people to become decodable before it begins without the missing ones.
    public static let panePatience = MediaTime.seconds(3)
    /// How long a mixer runs ahead of people who have not connected.
    public static let runAhead = MediaTime.seconds(15)

    public init() {}

    /// - Parameters:
    ///   - age: how long ago the plan was applied.
    ///   - isOnAirLost: the mixer on air has died, so that nothing comes of it any more.
    ///   - isMixerFailing: a mixer has died and the next one is held back.
    public func decide(
        plan: ProgramPlan, age: MediaTime, onAir: Feed?, sources: [SourceID: SourceFact],
        isOnAirLost: Bool = false, isMixerFailing: Bool
    ) -> Decision {
        let isSoundAlone = plan.tracks == .audio
        // What has sound is as good as what has pictures, where there are none.
        let sources = isSoundAlone ? sources.mapValues(\.countingSound) : sources
        switch plan.mode {
        case .slate:
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .bypass(let source):
            return bypass(
                source, plan: plan, age: age, onAir: onAir, sources: sources, isLost: isOnAirLost && !isMixerFailing)
        case .mix(let host):
            // A card needs nobody to be there; nor does the place of somebody absent.
            let panes = plan.scene.panes.filter(\.isLive).map { SourceID($0.source) }
            let ready = panes.filter { sources[$0]?.isDecodable ?? false }
            // Before anything is on air, the host's sound is awaited: the program shall have its format.
            let isHeard = !panes.isEmpty || onAir != nil || sources[host]?.isConnected ?? false
            let isComplete = ready.count == panes.count && isHeard
            let isEnough = isComplete || (ready.count >= min(2, panes.count) && age > ProgramDirector.panePatience)
            // Whoever has the camera off is not shown, whatever their stream contains.
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
            // start of a pipeline. Not for ever, for somebody who does not come.
            let isNear = panes.allSatisfy { sources[$0]?.isConnected ?? false }
            let runsAhead = onAir != nil && (isNear || age < ProgramDirector.runAhead)
            decision.mixer = max(decision.mixer, runsAhead ? .running : .none)
            return decision
        }
    }

    private func bypass(
        _ source: SourceID, plan: ProgramPlan, age: MediaTime, onAir: Feed?, sources: [SourceID: SourceFact],
        isLost: Bool
    ) -> Decision {
        let fact = sources[source]
        let canBypass = fact?.canBypass ?? false
        switch onAir {
        case nil:
            if canBypass { return Decision(aim: .source(source), mixer: .none, isSceneReady: true) }
            let isAudioOnly = fact.map { $0.isDecodable && !$0.hasVideo } ?? false
            guard age > ProgramDirector.firstSourcePatience || isAudioOnly else {
                return Decision(aim: .wait, mixer: .none, isSceneReady: true)
            }
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .source(source):
            let isLost = fact?.isSilent ?? true
            return isLost
                ? Decision(aim: .mixer, mixer: .running, isSceneReady: true)
                : Decision(aim: .source(source), mixer: .none, isSceneReady: true)
        case .source(let other):
            // From one person to another: a mix bridges until the other's next IDR.
            let isOtherLive = sources[other].map { !$0.isSilent } ?? false
            if canBypass, plan.tracks == .audio {
                return Decision(aim: .source(source), mixer: .none, isSceneReady: true)
            }
            if isOtherLive, !canBypass {
                return Decision(aim: .source(other), mixer: .warm, isSceneReady: true)
            }
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .mixer where isLost:
            // The next mixer goes on where it ended; waiting for the source's keyframe would leave a hole.
            return Decision(aim: .mixer, mixer: .running, isSceneReady: true)
        case .mixer:
            return Decision(
                aim: canBypass ? .source(source) : .mixer, mixer: .running, isSceneReady: true)
        }
    }
}
