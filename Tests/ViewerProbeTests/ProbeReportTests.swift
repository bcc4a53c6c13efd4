import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// The judgement of a whole program: a perfect one passes, and every single added fault is found.
@Suite struct ProbeReportTests {
    @Test func aPerfectProgramIsWithinLimits() throws {
        var fixture = ProbeFixture()
        fixture.configuration.expectedSwitches = 2
        let report = try fixture.report()
        #expect(report.isWithinLimits, "\(report.table)")
        #expect(report.switches.map(\.time) == ProbeFixture.splices)
        #expect(report.switches.map(\.from) == ["bypass 1", "mix 1+2"])
        #expect(report.switches.map(\.to) == ["mix 1+2", "bypass 1"])
        for change in report.switches {
            #expect(change.isSplice && change.host == 1)
            #expect(change.videoGapMs == 50)
            #expect(change.contentStep == 1)
            #expect(try abs(#require(change.audioDeviationMs)) < 1)
            #expect(try abs(#require(change.avShiftMs)) < 0.5)
            #expect(try abs(#require(change.avBeforeMs)) < 1)
            #expect(try abs(#require(change.phaseJumpDegrees)) < 1)
            #expect(try #require(change.colourError) < 0.01)
        }
        #expect(try abs(#require(report.mixDelayMs) - 20) < 0.01)
    }

    /// A mix that begins and ends with a transition: pictures of a transition are checked for lost and repeated
    /// content, but are not a scene of their own.
    @Test func whatMovesBetweenTwoScenesIsNoSwitch() throws {
        var fixture = ProbeFixture()
        for index in Array(80..<86) + Array(155..<160) {
            fixture.pictures[index].isMoving = true
            fixture.pictures[index].shown = [
                Shown(
                    source: 1, area: PixelRectangle(x: 0, y: 0, width: 400 + index * 2, height: 1280), isWhole: false)
            ]
            fixture.pictures[index].readings[2] = nil
            // Another pane fades in over flash and colour.
            fixture.pictures[index].readings[1]?.isFlashing.toggle()
            fixture.pictures[index].readings[1]?.colour = ColourSample(.white, matrix: .bt601)
        }
        fixture.configuration.expectedSwitches = 2
        let report = try fixture.report()
        #expect(report.isWithinLimits, "\(report.table)")
        #expect(report.switches.map(\.time) == ProbeFixture.splices)
        #expect(report.switches.map(\.to) == ["mix 1+2", "bypass 1"])

        // A mix of the host alone is a scene, and the transition away from it is part of it.
        for index in 78..<80 { fixture.pictures[index].configuration = 1 }
        #expect(try fixture.report().switches.map(\.to) == ["mix 1", "mix 1+2", "bypass 1"])
        fixture.pictures[83].readings[1]?.mark.counter -= 1
        #expect(try fixture.report().sources.first { $0.id == 1 }?.repeated == 1)
    }

    @Test func aLostPictureIsFound() throws {
        var fixture = ProbeFixture()
        fixture.removePictures(4000...4000)
        let report = try fixture.report()
        #expect(report.switches[0].contentStep == 2)
        #expect(report.switches[0].videoGapMs == 100)
        #expect(report.switches[0].failures.count >= 2)
    }

    @Test func skippedContentWithoutAGapIsFound() throws {
        var fixture = ProbeFixture()
        fixture.change(from: 4000) { $0.readings[1]?.mark.counter += 1 }
        let report = try fixture.report()
        #expect(report.switches[0].contentStep == 2)
        #expect(report.sources.first { $0.id == 1 }?.lost == 1)
        #expect(!report.isWithinLimits)
    }

    @Test func aRepeatedPictureIsFound() throws {
        var fixture = ProbeFixture()
        fixture.change(from: 8000) { $0.readings[1]?.mark.counter -= 1 }
        let report = try fixture.report()
        #expect(report.switches[1].contentStep == 0)
        #expect(report.sources.first { $0.id == 1 }?.repeated == 1)
        #expect(report.frozenMs == 50)
    }

    @Test func aRepeatedPictureInTheMiddleOfTheMixIsFound() throws {
        var fixture = ProbeFixture()
        fixture.change(from: 6000) { $0.readings[1]?.mark.counter -= 1 }
        let report = try fixture.report()
        #expect(report.switches.flatMap(\.failures).isEmpty)
        #expect(report.failures.contains { $0.contains("repeated") && $0.contains("at 6.0 s") })
    }

    @Test func blackPicturesAreFound() throws {
        var fixture = ProbeFixture()
        for index in 79...81 {
            fixture.pictures[index].readings = [:]
            fixture.pictures[index].shown = []
            fixture.pictures[index].isBlack = true
        }
        let report = try fixture.report()
        #expect(report.blackMs == 150)
        #expect(report.unreadable == 3)
        #expect(!report.isWithinLimits)
    }

    @Test func aFrozenPictureIsFound() throws {
        var fixture = ProbeFixture()
        fixture.removePictures(6000...6450)
        let report = try fixture.report()
        #expect(report.frozenMs == 500)
        #expect(report.failures.contains { $0.contains("frozen") })
    }

    @Test func aTornPictureIsFound() throws {
        var fixture = ProbeFixture()
        fixture.pictures[100].readings[1]?.isFlashing.toggle()
        #expect(try fixture.report().failures.contains { $0.contains("torn") })
    }

    @Test func timestampsThatGoBackAreFound() throws {
        var fixture = ProbeFixture()
        fixture.video[160].dts -= 60
        #expect(try fixture.report().backwardTimestamps == 1)
        #expect(try !fixture.report().isWithinLimits)
    }

    @Test func anAudioGapIsFound() throws {
        var fixture = ProbeFixture()
        for index in fixture.audio.indices where fixture.audio[index] >= 4000 { fixture.audio[index] += 5 }
        let report = try fixture.report()
        #expect(report.switches[0].failures.contains { $0.contains("audio cadence") })
        #expect(report.switches[1].failures.allSatisfy { !$0.contains("audio cadence") })
    }

    @Test(arguments: [Int64(2), -2]) func twoMillisecondsOfAudioGapAreFoundInSpiteOfTheRounding(shift: Int64) throws {
        var fixture = ProbeFixture()
        for index in fixture.audio.indices where fixture.audio[index] >= 8000 { fixture.audio[index] += shift }
        let report = try fixture.report()
        #expect(report.switches[0].failures.isEmpty)
        #expect(try abs(#require(report.switches[1].audioDeviationMs) - Double(shift)) < 0.7)
        #expect(report.switches[1].failures.contains { $0.contains("audio cadence") })
    }

    @Test func aClockThatIsSlowlyFollowedIsNoAudioGap() throws {
        var fixture = ProbeFixture()
        // 2000 ppm for two seconds.
        fixture.audio = (0..<562).map { index in
            let time = Double(index) * 1024 / 48
            return Int64((time + min(max(0, time - 3000), 2000) * 0.002).rounded())
        }
        let report = try fixture.report()
        #expect(abs(report.audioDeviationMs) < 0.8, "\(report.audioDeviationMs)")
        #expect(report.switches.flatMap(\.failures).allSatisfy { !$0.contains("cadence") })
    }

    @Test func aStepSpreadOverSeveralFramesIsNoAudioGap() throws {
        var fixture = ProbeFixture()
        let first = try #require(fixture.audio.firstIndex { $0 >= 8000 })
        for index in fixture.audio.indices.dropFirst(first) {
            let time = Double(index) * 1024 / 48 - 0.33 * Double(min(4, index - first))
            fixture.audio[index] = Int64(time.rounded())
        }
        #expect(try fixture.report().isWithinLimits)
    }

    @Test func roundingIsNoAudioGap() throws {
        var fixture = ProbeFixture()
        // A timestamp rounded in the other direction: intervals of 20 and 23 ms, no change of the cadence.
        let index = try #require(fixture.audio.firstIndex { $0 >= 4000 })
        fixture.audio[index] -= 1
        #expect(try fixture.report().isWithinLimits)
    }

    @Test(arguments: [21, -21]) func forgottenPrimingIsFound(shift: Int) throws {
        var fixture = ProbeFixture()
        // The mix's sound is late by an AAC frame while its timestamps continue without a fault.
        let clean = fixture.samples
        for index in 4 * 48000..<8 * 48000 { fixture.samples[index] = clean[index - shift * 48] }
        let report = try fixture.report()
        #expect(try abs(#require(report.switches[0].avShiftMs) - Double(shift)) < 0.5)
        #expect(report.switches[0].failures.contains { $0.contains("A/V") })
        #expect(try abs(#require(report.switches[1].avShiftMs) + Double(shift)) < 0.5)
    }

    @Test func aPhaseJumpIsFound() throws {
        var fixture = ProbeFixture()
        fixture.samples = ProbeFixture.sound(seconds: 12) { $0 >= 4 * 48000 ? Double.pi / 6 : 0 }
        let report = try fixture.report()
        #expect(try abs(#require(report.switches[0].phaseJumpDegrees) - 30) < 1)
        #expect(report.switches[0].failures.contains { $0.contains("tone") })
        #expect(try abs(#require(report.switches[1].phaseJumpDegrees)) < 1)
    }

    @Test func aClickIsFound() throws {
        var fixture = ProbeFixture()
        fixture.samples[4 * 48000 + 100] += 0.2
        let report = try fixture.report()
        #expect(report.switches[0].failures.contains { $0.contains("click") })
        #expect(report.switches[1].failures.isEmpty)
    }

    @Test(arguments: [-50.0, -70]) func aQuietClickAboveTheTonesIsFound(decibels: Double) throws {
        var fixture = ProbeFixture()
        fixture.samples = ProbeFixture.clicking(
            fixture.samples, at: 8 * 48000 + 100, frequency: 7_500, decibels: decibels)
        let report = try fixture.report()
        #expect(report.switches[0].failures.isEmpty)
        #expect(report.switches[1].failures.contains { $0.contains("in the band above the tones") })
    }

    @Test func aGuestsSoundBeginsWithoutAClick() throws {
        var fixture = ProbeFixture()
        fixture.configuration.publishers = [ProbeFixture.host, SyntheticPublisher(id: 2)]
        #expect(try fixture.report().isWithinLimits)
        fixture.samples[4 * 48000 + 100] += 0.001
        let report = try fixture.report()
        #expect(report.switches[0].failures.contains { $0.contains("click") })
    }

    @Test func aColourShiftIsFound() throws {
        var fixture = ProbeFixture()
        let red = ProbeFixture.host.colour
        for index in fixture.pictures.indices where fixture.pictures[index].shown.count == 2 {
            // Composed as BT.709 although the source is BT.601: red turns orange.
            fixture.pictures[index].readings[1]?.colour = ColourSample(red, matrix: .bt709)
        }
        let report = try fixture.report()
        #expect(try #require(report.switches[0].colourError) > 3)
        #expect(report.switches.allSatisfy { !$0.failures.isEmpty })
    }

    @Test func aChangeOfTheColourSignalAloneIsFound() {
        let sample = ColourSample(ProbeFixture.host.colour, matrix: .bt601)
        let none = ViewerColour(matrix: nil, isFullRange: false, height: 1280)
        let signalled = ViewerColour(matrix: 1, isFullRange: false, height: 1280)
        #expect(ViewerColour.greatestDifference(sample, none, sample, none) == 0)
        #expect(ViewerColour.greatestDifference(sample, none, sample, signalled) > 3)
    }

    @Test func addedDelayIsFound() throws {
        var fixture = ProbeFixture()
        for index in fixture.pictures.indices where fixture.pictures[index].shown.count == 2 {
            fixture.pictures[index].arrival? += 60_000_000
        }
        let report = try fixture.report()
        #expect(try abs(#require(report.mixDelayMs) - 80) < 0.01)
        #expect(report.failures.contains { $0.contains("adds") })
    }

    @Test func reconnectsDecodeErrorsAndMissingSwitchesAreFound() throws {
        var fixture = ProbeFixture()
        fixture.connections = 2
        fixture.decodeErrors = ["[error] concealing 45 DC errors"]
        fixture.configuration.expectedSwitches = 3
        let failures = try fixture.report().failures
        #expect(failures.count == 3)
        #expect(failures.contains { $0.contains("connections") })
        #expect(failures.contains { $0.contains("decode errors") })
        #expect(failures.contains { $0.contains("splices") })
    }

    @Test func aMixOfOneOnTheWayBackIsNotABypass() throws {
        var fixture = ProbeFixture()
        for index in fixture.pictures.indices where (7000..<8000).contains(fixture.pictures[index].time) {
            fixture.pictures[index].shown = ProbeFixture.alone
            fixture.pictures[index].readings[2] = nil
        }
        let report = try fixture.report()
        #expect(report.switches.map(\.to) == ["mix 1+2", "mix 1", "bypass 1"])
        #expect(report.switches.map(\.isSplice) == [true, false, true])
        #expect(report.switches.map(\.time) == [4000, 7000, 8000])
    }
}
