import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// The program's timestamps beyond the life of this process.
extension Relay {
    /// Goes on with the timestamps of a relay that was killed, if there was one. Called before anything is on air.
    func continueProgram() {
        let clock = MonotonicClock.now()
        let place = configuration.anchorFile.read()?.continuation(
            boot: AnchorFile.boot, clock: clock, wall: Date().timeIntervalSince1970, programStart: programStart)
        guard let place else { return }
        program = FLVProgram(continuing: place)
        logger.notice("continues the program of a relay that was killed, at \(place.earliest)")
    }

    /// Goes on with the timestamps of a relay on another machine, unless something was on air already.
    func continueProgram(from place: ProgramPlace) {
        guard self.place == nil else { return }
        // Of no boot of this machine: only the time of day counts. A place is noted once and not every ten seconds, so that
        // nothing follows from its age.
        let anchor = ProgramAnchor(
            boot: "elsewhere", zero: 0, wallZero: place.wallZero, noted: place.noted - AnchorSchedule.interval,
            ahead: place.ahead)
        let continuation = anchor.continuation(
            boot: AnchorFile.boot, clock: MonotonicClock.now(), wall: Date().timeIntervalSince1970,
            programStart: programStart)
        guard var continuation else { return }
        if let last = place.last {
            // The relay has stopped: nothing later was sent.
            continuation.earliest = min(max(last, .zero), continuation.earliest + .seconds(60)) + .milliseconds(1)
        }
        program = FLVProgram(continuing: continuation)
        logger.notice("continues the program of another machine, at \(continuation.earliest)")
    }

    /// Notes the stream's place on the clocks when it is due. The file is written elsewhere.
    func noteAnchor(_ frame: EncodedFrame) {
        let now = now
        guard let ahead = anchors.sent(frame.dts, now: now), let stream = program.streamTime(of: now) else { return }
        let zero = (MediaTime(nanoseconds: programStart) + now - stream).nanoseconds
        let wallZero = Date().timeIntervalSince1970 - stream.inSeconds
        place = ProgramPlace(wallZero: wallZero, noted: stream, ahead: ahead)
        documents.async { [file = configuration.anchorFile] in
            file.write(
                ProgramAnchor(boot: AnchorFile.boot, zero: zero, wallZero: wallZero, noted: stream, ahead: ahead))
        }
    }

    /// Forgets the stream's place, because the program ends: the next one begins at 0.
    func forgetAnchor() {
        endings.append { [documents, file = configuration.anchorFile] in
            await withCheckedContinuation { continuation in
                documents.async {
                    file.remove()
                    continuation.resume()
                }
            }
        }
    }
}
