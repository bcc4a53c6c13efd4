import EncodedMedia
import LayoutEngine
import MixModel
import ProgramSplicer

/// A frame of 1024 samples per channel that can be made now.
struct SoundJob: Sendable {
    /// Program time.
    var time: MediaTime
    /// Interleaved samples.
    var samples: [Float]
    /// Volume of each source, if a report is due.
    var volumes: [SourceID: Int]?
}

extension MixState {
    /// Length of a fade where a source's audio begins or breaks off: too short to be heard as a fade, and so long that
    /// the encoder hardly ever takes it for an attack (docs/adr/0005-viewer-side-probe.md).
    static let soundEdge = MediaTime.milliseconds(20)

    private var frameLength: Int64 { Int64(AudioEncoder.samplesPerFrame) }

    /// Returns the program time of an audio frame.
    func time(ofSound index: Int64) -> MediaTime {
        setup.audioOrigin + soundGrid.offset + .units(index * frameLength, rate: setup.sampleRate)
    }

    /// Adds decoded audio.
    /// - Returns: Whether the tick thread must be woken.
    @discardableResult
    mutating func add(_ samples: [Float], at time: MediaTime, of id: SourceID, now: MediaTime) -> Bool {
        guard var source = sources.removeValue(forKey: id) else { return false }
        let isFirst = source.lastSound == nil
        source.lastSound = now
        // Audio that is too late for the mix, other than the cached GOP at the start, makes the mix wait longer. A
        // steadily late source would otherwise never be heard.
        let end = time + .units(Int64(samples.count / setup.channels), rate: setup.sampleRate)
        if time < self.time(ofSound: nextSound), time > setup.audioOrigin + Patience.silence, let fed = source.fedSound,
            now - fed > Patience.silence
        {
            let wanted = min(Patience.mostForSound, now - end + .milliseconds(20))
            soundPatience = max(soundPatience, wanted)
        }
        source.sound.append(at: time + source.soundDelay - setup.audioOrigin - soundGrid.offset, samples)
        sources[id] = source
        return wakes(soundOf: id, isFirst: isFirst)
    }

    /// Returns whether the source has audio for all frames before `index`.
    func hasSound(of id: SourceID, until index: Int64) -> Bool {
        sources[id]?.sound.end.map { $0 >= index * frameLength } ?? false
    }

    /// Returns the next 1024 samples, if they can be made. They then count as made, so call it once.
    mutating func nextSoundFrame(now: MediaTime) -> Step<SoundJob> {
        takeSceneOfSound()
        guard let started, let sound = player?.scene.sound else { return .wait(until: nil) }
        let index = nextSound
        let endTime = time(ofSound: index + 1)
        let deadline = max(endTime + soundPatience, started + Patience.start)
        var awaited = AwaitedFrame(time: endTime)
        for level in sound.levels {
            let id = SourceID(level.source)
            guard let source = sources[id], source.fedSound != nil, !source.hasEnded else {
                if index == 0 { awaited.floor = started + Patience.firstFrame }
                continue
            }
            if hasSound(of: id, until: index + 1) {
                awaited.isLive = awaited.isLive || id != .idle
            } else if let last = source.lastSound {
                let patience = source.stalled.contains(.audio) ? Patience.drained : Patience.silence
                awaited.sources[id] = min(deadline, last + patience)
            } else if index == 0 {
                awaited.sources[id] = started + Patience.start
            }
        }
        guard awaited.due <= now else {
            awaitedSound = awaited
            return .wait(until: awaited.due)
        }
        return .make(mix(index, sound))
    }

    private mutating func mix(_ index: Int64, _ scene: SceneSound) -> SoundJob {
        let time = time(ofSound: index)
        let range = index * frameLength..<(index + 1) * frameLength
        let targets = targets(scene, range)
        var sum = [Float](repeating: 0, count: Int(frameLength) * setup.channels)
        var voices = 0
        var loudest: Float = 0
        var powers: [SourceID: Float] = [:]
        let marksSpeakers = player?.scene.panes.contains { $0.speaking != nil } ?? false
        for id in Array(sources.keys) {
            guard var source = sources.removeValue(forKey: id) else { continue }
            let target = targets[id] ?? 0
            // Sources that are present at the start, and the host at any time, are heard from the first sample.
            let gain = source.gain ?? (index == 0 || id == setup.host ? target : 0)
            if meter.isOn || marksSpeakers, let named = targets[id] {
                powers[id] = source.sound.power(range) * named * named
            }
            if gain > 0 || target > 0 {
                if source.sound.mix(range, into: &sum, gain: gain, to: target) {
                    voices += 1
                    loudest = max(loudest, gain, target)
                }
            }
            source.gain = target
            source.isAudible = targets[id] != nil
            source.sound.discard(before: range.upperBound)
            sources[id] = source
        }
        // A single voice passes unchanged, as it does in bypass.
        if voices > 1 || loudest > 1 { Loudness.softClip(&sum) }
        if let host = setup.host, let sound = sources[host]?.sound, sound.end != nil {
            let movement = soundGrid.follow(.seconds(sound.disagreement / Double(setup.sampleRate)))
            sources[host]?.sound.noteGridMoved(by: movement)
        }
        speakers.take(marksSpeakers ? powers : [:])
        nextSound = index + 1
        return SoundJob(time: time, samples: sum, volumes: meter.take(powers))
    }

    /// Switches to the wanted scene at once if the mix has no video, for which it would have to wait.
    private mutating func takeSceneOfSound() {
        guard !setup.hasVideo, let wanted else { return }
        player = ScenePlayer(wanted.scene)
        self.wanted = nil
        forgetEnded(shown: wanted.scene)
    }

    /// Returns the gain of each source of the scene at the end of `range`: 0 for those beyond the loudest.
    private mutating func targets(_ scene: SceneSound, _ range: Range<Int64>) -> [SourceID: Float] {
        var gains = Dictionary(
            scene.levels.map { (SourceID($0.source), Float($0.gain) / 100) }, uniquingKeysWith: { first, _ in first })
        guard let most = scene.loudest else { return gains }
        var powers: [SourceID: Float] = [:]
        for (id, gain) in gains {
            if let source = sources[id] { powers[id] = source.sound.power(range) * gain * gain }
        }
        let heard = voices.choose(powers, most: most)
        for id in powers.keys where !heard.contains(id) { gains[id] = 0 }
        return gains
    }
}
