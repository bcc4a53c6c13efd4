import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// Continuation of the program's timestamps beyond the life of this process.
extension Relay {
    /// Continues the timestamps of a killed relay, if there was one. Called before anything is on air.
    func continueProgram() {
        let clock = MonotonicClock.now()
        let place = configuration.anchorFile.read()?.continuation(
            boot: AnchorFile.boot, clock: clock, wall: Date().timeIntervalSince1970, programStart: programStart)
        guard let place else { return }
        program = FLVProgram(continuing: place)
        logger.notice("continues the program of a relay that was killed, at \(place.earliest)")
    }

    /// Continues the timestamps of a relay on another machine, unless something was already on air.
    func continueProgram(from place: ProgramPlace) {
        guard self.place == nil else { return }
        // The anchor has no boot identifier of this machine: only the time of day counts. A place is recorded once and
        // not every ten seconds, so its age says nothing.
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

    /// Records the stream's place on the clocks when that is due. The file is written on another queue.
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

    /// Removes the stream's place, because the program ends: the next one begins at 0.
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
