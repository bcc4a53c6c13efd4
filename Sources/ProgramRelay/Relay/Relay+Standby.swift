import EncodedMedia
import Foundation
import MixModel
import ProgramSplicer

extension Relay {
    /// The remaining work until a relay stands by.
    enum Silencing: Hashable {
        /// None: the relay stands by, or sends.
        case none
        /// The outputs are being closed.
        case closing
        /// Like `closing`; then the program is sent again.
        case closingBeforeStart(ProgramPlace?)
    }

    /// Stops at the next keyframe, or at once if nothing is on air.
    func standBy() {
        guard standby.begin(isOnAir: program.lastSent != nil, now: now) else {
            // A mix and a WebRTC publisher send a keyframe on request.
            return requestKeyframe()
        }
        if outputs.isEmpty, silencing == .none {
            keepDeadline()
            return reportStatus()
        }
        beginSilence()
    }

    /// Closes the outputs, because nothing more is sent. Another relay may send to the destinations only once their
    /// connections are closed.
    func beginSilence() {
        guard silencing == .none else { return }
        silencing = .closing
        if let last = program.lastSent, let stream = program.streamTime(of: now) {
            place = ProgramPlace(
                wallZero: Date().timeIntervalSince1970 - stream.inSeconds, noted: stream,
                ahead: max(last - stream, .zero), last: last)
        }
        // Viewers who join later get the next group.
        program.forgetGroup()
        let closed = outputs
        outputs = [:]
        let destinations = closed.values.filter { $0 is DestinationOutput }
        for output in closed.values where !(output is DestinationOutput) { endings.append { await output.close() } }
        endings.append { [weak self] in
            await withDiscardingTaskGroup { group in
                for output in destinations { group.addTask { await output.close() } }
            }
            self?.post(.silenced)
        }
        logger.notice("stands by: another relay may send the program")
    }

    /// Sets the time until which the relay may send.
    func hold(until deadline: Int64) {
        sendsUntil = deadline
        keepDeadline()
    }

    /// Ends the process at the deadline, unless this relay sends nothing: others in the process may continue.
    private func keepDeadline() {
        let mayEnd = standby.isSilent && silencing == .none
        loop.fallSilent(at: mayEnd || sendsUntil == .max ? nil : sendsUntil, for: ObjectIdentifier(self))
    }

    /// Ends a standby relay that is no longer needed.
    func endForgottenStandby() {
        guard standby.isSilent, silencing == .none, BootClock.now() >= sendsUntil else { return }
        logger.notice("this standby relay is not needed: it exits")
        isDraining = true
    }

    func silenced() {
        let next = silencing
        silencing = .none
        keepDeadline()
        if case .closingBeforeStart(let place) = next { return endStandby(at: place) }
        reportStatus()
    }

    /// Sends the program, including the kept group of pictures. If another relay has sent it in the meantime, it
    /// continues after that.
    ///
    /// - Parameter place: The program's current place; `nil` if unknown.
    func endStandby(at place: ProgramPlace? = nil) {
        if silencing != .none {
            var known: ProgramPlace?
            if case .closingBeforeStart(let earlier) = silencing { known = earlier }
            silencing = .closingBeforeStart(place ?? known)
            return
        }
        guard !standby.isSilent || BootClock.now() < sendsUntil else {
            // The process was suspended, and another node may have the program.
            isDraining = true
            return
        }
        if let place { continueProgram(from: place) }
        self.place?.last = nil
        guard standby.isSilent else {
            _ = standby.leave()
            return
        }
        let keepsGroup = !canBeginAnew(after: place?.last)
        let kept = standby.leave(keepsGroup: keepsGroup)
        keepDeadline()
        logger.notice("sends the program from now on")
        if let plan { applyOutputs(plan) }
        perform(kept)
        if standby.phase == .starting { requestKeyframe() }
        reportStatus()
    }

    /// Returns whether pictures can start with a keyframe that arrives soon, and the kept ones were shown long ago.
    private func canBeginAnew(after last: MediaTime?) -> Bool {
        guard let onAir = splicer.onAir, onAir.isMixer, let last, let first = standby.firstPicture,
            let time = program.streamTime(of: first)
        else { return false }
        return last - time > .milliseconds(300)
    }
}
