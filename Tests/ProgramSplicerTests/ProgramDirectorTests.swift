import LayoutEngine
import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct ProgramDirectorTests {
    typealias Fact = ProgramDirector.SourceFact

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var mode: ProgramPlan.Mode
        var age = 0.5
        var onAir: SpliceInput?
        var sources: [SourceID: Fact]
        var isOnAirLost = false
        var isMixerFailing = false
        var isMixerSilent = false
        /// Panes whose stream is not shown because its camera is off.
        var cards: Set<SourceID> = []
        var aim: ProgramDirector.Aim
        var mixer: ProgramDirector.MixerNeed
    }

    static let live = Fact(isDecodable: true, isSilent: false, hasVideo: true)
    static let silent = Fact(isDecodable: true, isSilent: true, hasVideo: true)
    static let suspect = Fact(isDecodable: true, isSilent: false, hasVideo: true, isSuspect: true)
    static let unsteady = Fact(isDecodable: true, isSilent: false, hasVideo: true, isSteady: false)
    static let connecting = Fact(isDecodable: false, isSilent: true, hasVideo: false, isConnected: false)
    static let awaitingKeyframe = Fact(isDecodable: false, isSilent: true, hasVideo: true)
    /// Only an open group of its pictures is known.
    static let openGroup = Fact(isDecodable: true, isSilent: false, hasVideo: true, hasKeyframe: false)
    static let sound = Fact(isDecodable: true, isSilent: false, hasVideo: false)
    static let soundConnected = Fact(isDecodable: false, isSilent: false, hasVideo: false)
    static let a: SourceID = "alice/camera"
    static let b: SourceID = "bob/camera"

    static let cases = [
        Case(
            testDescription: "the first source goes on air as soon as it is decodable", mode: .bypass(a),
            sources: [a: live], aim: .source(a), mixer: .none),
        Case(
            testDescription: "nothing is shown while the first source connects", mode: .bypass(a),
            sources: [a: connecting], aim: .wait, mixer: .none),
        Case(
            testDescription: "a first source that never comes gives a slate", mode: .bypass(a), age: 6,
            sources: [a: connecting], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a first source whose keyframe has not come is waited for", mode: .bypass(a),
            sources: [a: openGroup], aim: .wait, mixer: .none),
        Case(
            testDescription: "if none comes, its open groups are mixed", mode: .bypass(a), age: 6,
            sources: [a: openGroup], aim: .mixer, mixer: .running),
        Case(
            testDescription: "the mix is left with its next keyframe", mode: .bypass(a), onAir: .mixer(1),
            sources: [a: openGroup], aim: .source(a), mixer: .running),
        Case(
            testDescription: "open groups can be mixed at once", mode: .mix(host: a), sources: [a: openGroup, b: live],
            aim: .mixer, mixer: .running),
        Case(
            testDescription: "a bypass needs no mixer", mode: .bypass(a), onAir: .source(a), sources: [a: live],
            aim: .source(a), mixer: .none),
        Case(
            testDescription: "a stalled bypass goes to a mixer", mode: .bypass(a), onAir: .source(a),
            sources: [a: silent], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a mixer decodes beside a bypass that is about to stall", mode: .bypass(a),
            onAir: .source(a), sources: [a: suspect], aim: .source(a), mixer: .ready),
        Case(
            testDescription: "a source that has just stalled stays in the mix", mode: .bypass(a), onAir: .mixer(1),
            sources: [a: unsteady], aim: .mixer, mixer: .running),
        Case(
            testDescription: "but not if no mixer works", mode: .bypass(a), onAir: .mixer(1), sources: [a: unsteady],
            isMixerFailing: true, aim: .source(a), mixer: .running),
        Case(
            testDescription: "a source that stalled before is copied until it stalls again", mode: .bypass(a),
            onAir: .source(a), sources: [a: unsteady], aim: .source(a), mixer: .none),
        Case(
            testDescription: "back from the mixer once it lives", mode: .bypass(a), onAir: .mixer(1),
            sources: [a: live], aim: .source(a), mixer: .running),
        Case(
            testDescription: "from one person to another by way of a mix", mode: .bypass(b), onAir: .source(a),
            sources: [a: live, b: live], aim: .mixer, mixer: .running),
        Case(
            testDescription: "the one on air stays until the other is decodable", mode: .bypass(b),
            onAir: .source(a), sources: [a: live, b: connecting], aim: .source(a), mixer: .warm),
        Case(
            testDescription: "a guest who connects: bypass stays, the mixer runs ahead, unseen", mode: .mix(host: a),
            onAir: .source(a), sources: [a: live, b: connecting], aim: .source(a), mixer: .running),
        Case(
            testDescription: "a guest whose keyframe is due: it still does", mode: .mix(host: a), age: 60,
            onAir: .source(a), sources: [a: live, b: awaitingKeyframe], aim: .source(a), mixer: .running),
        Case(
            testDescription: "all decodable: mix", mode: .mix(host: a), onAir: .source(a),
            sources: [a: live, b: live], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a guest who never comes does not disturb the host", mode: .mix(host: a), age: 60,
            onAir: .source(a), sources: [a: live, b: connecting], aim: .source(a), mixer: .none),
        Case(
            testDescription: "mixers that die again and again: the host alone", mode: .mix(host: a),
            onAir: .mixer(3), sources: [a: live, b: live], isMixerFailing: true, aim: .source(a), mixer: .running),
        Case(
            testDescription: "a mixer that dies on the way back: the next one fills the hole", mode: .bypass(a),
            onAir: .mixer(1), sources: [a: live], isOnAirLost: true, aim: .mixer, mixer: .running),
        Case(
            testDescription: "mixers that keep dying on the way back: the source's next keyframe", mode: .bypass(a),
            onAir: .mixer(1), sources: [a: live], isOnAirLost: true, isMixerFailing: true, aim: .source(a),
            mixer: .running),
        Case(
            testDescription: "a mixer that delivers nothing: the host alone", mode: .mix(host: a), onAir: .mixer(1),
            sources: [a: unsteady, b: live], isMixerSilent: true, aim: .source(a), mixer: .running),
        Case(
            testDescription: "neither does the one after it: the host alone", mode: .mix(host: a), onAir: .mixer(1),
            sources: [a: live, b: live], isOnAirLost: true, isMixerSilent: true, aim: .source(a), mixer: .running),
        Case(
            testDescription: "nor those on the way back: the source's next keyframe", mode: .bypass(a),
            onAir: .mixer(1), sources: [a: live], isOnAirLost: true, isMixerSilent: true, aim: .source(a),
            mixer: .running),
        Case(
            testDescription: "a bypass that becomes a mix does not care how long there was none", mode: .mix(host: a),
            onAir: .source(a), sources: [a: live, b: live], isMixerSilent: true, aim: .mixer, mixer: .running),
        Case(
            testDescription: "nothing is delivered, and there is nobody to show", mode: .mix(host: a),
            onAir: .mixer(1), sources: [a: silent, b: live], isMixerSilent: true, aim: .mixer, mixer: .running),
        Case(
            testDescription: "a mix goes on while one of its people stalls", mode: .mix(host: a), onAir: .mixer(1),
            sources: [a: live, b: silent], aim: .mixer, mixer: .running),
        Case(
            testDescription: "someone without a camera is composed, not bypassed", mode: .bypass(a),
            sources: [a: sound], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a room of cards waits for the host's sound", mode: .mix(host: a),
            sources: [a: connecting, b: connecting], cards: [a, b], aim: .wait, mixer: .none),
        Case(
            testDescription: "but not for long", mode: .mix(host: a), age: 3.5,
            sources: [a: connecting, b: connecting], cards: [a, b], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a room of cards is a mix as soon as the host's sound is there", mode: .mix(host: a),
            sources: [a: soundConnected, b: connecting], cards: [a, b], aim: .mixer, mixer: .running),
        Case(
            testDescription: "a bypass whose camera goes off becomes cards at once", mode: .mix(host: a),
            onAir: .source(a), sources: [a: live], cards: [a, b], aim: .mixer, mixer: .running),
        Case(
            testDescription: "cards on air stay on air", mode: .mix(host: a), onAir: .mixer(1),
            sources: [a: connecting], cards: [a, b], aim: .mixer, mixer: .running),
        Case(
            testDescription: "the camera is on again: back to bypass", mode: .bypass(a), onAir: .mixer(1),
            sources: [a: live], aim: .source(a), mixer: .running),
        Case(
            testDescription: "the camera is on again and its keyframe due: the cards stay", mode: .bypass(a),
            onAir: .mixer(1), sources: [a: awaitingKeyframe], aim: .mixer, mixer: .running),
        Case(
            testDescription: "somebody with a card is not awaited", mode: .mix(host: a), onAir: .source(a),
            sources: [a: live, b: connecting], cards: [b], aim: .mixer, mixer: .running),
        Case(
            testDescription: "no mixer works: a camera that is off is not shown in its place", mode: .mix(host: a),
            onAir: .mixer(3), sources: [a: live, b: live], isMixerFailing: true, cards: [a], aim: .mixer,
            mixer: .running),
        Case(
            testDescription: "nobody: slate", mode: .slate, onAir: .source(a), sources: [:], aim: .mixer,
            mixer: .running),
    ]

    @Test(arguments: cases) func decides(_ expected: Case) {
        let panes = [ProgramDirectorTests.a, ProgramDirectorTests.b].map { id in
            Pane(
                source: id.rawValue, user: id.user.rawValue, x: 0, y: 0, width: 360, height: 640,
                isLive: !expected.cards.contains(id))
        }
        let plan = ProgramPlan(
            revision: 1, task: "auto-r", room: "r", sources: [], mode: expected.mode,
            scene: Scene(canvas: .portrait, panes: panes), outputs: [], causedAt: 0, cause: "test")
        let decision = ProgramDirector().decide(
            plan: plan, age: .seconds(expected.age), onAir: expected.onAir, sources: expected.sources,
            isOnAirLost: expected.isOnAirLost, isMixerFailing: expected.isMixerFailing,
            isMixerSilent: expected.isMixerSilent)
        #expect(decision.aim == expected.aim)
        #expect(decision.mixer == expected.mixer)
    }
}
