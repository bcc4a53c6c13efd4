import EncodedMedia
import MixModel
import ProgramSplicer

/// Frozen and black pictures of sources. Nothing is decoded here, and no work is done unless the plan's limits ask for it.
extension Relay {
    /// Has the keyframe examined that has waited longest, at most one at a time.
    func examinePictures(now: MediaTime) {
        guard plan?.quality?.examinesPictures ?? false else {
            if let end = examiner.end() { endings.append(end) }
            return
        }
        if examiner.isLate(now: now) { giveExaminerUp("it does not answer", now: now) }
        guard examiner.isFree(now: now) else { return }
        var oldest: (source: PulledSource, attempt: Int, since: MediaTime)?
        for source in sources.values where source.removedAt == nil && source.planned.video {
            for attempt in [source.attempt, source.probe?.attempt].compactMap(\.self) {
                // A keyframe without a configuration cannot be examined, and would always be the oldest.
                guard source.pictures(of: attempt) != nil,
                    let since = source.watch(of: attempt)?.waitingSince(at: now)
                else { continue }
                if oldest.map({ since < $0.since }) ?? true { oldest = (source, attempt, since) }
            }
        }
        guard let next = oldest, let pictures = next.source.pictures(of: next.attempt),
            var watch = next.source.watch(of: next.attempt), let keyframe = watch.takeKeyframe(at: now)
        else { return }
        next.source.setWatch(watch, of: next.attempt)
        let question = PictureExaminer.Question(
            source: next.source.planned.id, attempt: next.attempt, time: keyframe.time)
        do {
            try examiner.ask(
                question, keyframe.frame, pictures, executable: configuration.worker, now: now
            ) { [weak self] generation, answer in
                self?.post(.examined(generation: generation, answer))
            }
        } catch {
            giveExaminerUp("\(error)", now: now)
        }
    }

    /// Handles an answer of the process, or its end.
    func examined(_ answer: PreviewAnswer?, generation: Int) {
        guard generation == examiner.generation else { return }
        guard let answer else { return giveExaminerUp("it has ended", now: now) }
        guard let question = examiner.answered() else {
            return giveExaminerUp("it has sent an answer without a question", now: now)
        }
        if let sample = answer.sample, let source = sources[question.source],
            var watch = source.watch(of: question.attempt)
        {
            watch.saw(sample, at: question.time)
            source.setWatch(watch, of: question.attempt)
        }
        // In a calm bypass, the next tick may be a second away: each source would be examined once in as many seconds as
        // there are sources.
        examinePictures(now: now)
    }

    private func giveExaminerUp(_ reason: String, now: MediaTime) {
        logger.warning("the process that examines pictures is replaced: \(reason)")
        if let end = examiner.failed(now: now) { endings.append(end) }
    }
}

extension PulledSource {
    /// Returns the watch of the connection with this number: the one in use, or the probe.
    fileprivate func watch(of attempt: Int) -> QualityWatch? {
        attempt == self.attempt ? quality : attempt == probe?.attempt ? probe?.watch : nil
    }

    fileprivate func setWatch(_ watch: QualityWatch, of attempt: Int) {
        if attempt == self.attempt { quality = watch } else if attempt == probe?.attempt { probe?.watch = watch }
    }

    /// Returns the video configuration of that connection.
    fileprivate func pictures(of attempt: Int) -> CodecConfiguration? {
        attempt == self.attempt ? timeline.video : probe?.configurations[.video]
    }
}
