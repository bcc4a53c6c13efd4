import EncodedMedia
import Foundation
import MediaFormats
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

    /// Notes the stream's place on the clocks when it is due. The file is written elsewhere.
    func noteAnchor(_ frame: EncodedFrame) {
        let now = now
        guard let ahead = anchors.sent(frame.dts, now: now), let stream = program.streamTime(of: now) else { return }
        let zero = (MediaTime(nanoseconds: programStart) + now - stream).nanoseconds
        let wallZero = Date().timeIntervalSince1970 - stream.inSeconds
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
