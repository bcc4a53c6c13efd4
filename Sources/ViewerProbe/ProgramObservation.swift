import EncodedMedia
import Foundation

/// Everything observed in a program: the basis of the judgement.
struct ProgramObservation: Sendable {
    /// The pictures in the order of presentation.
    var pictures: [PictureObservation]
    var sound: [SoundRun]
    var timing: TimingAnalysis
    var configurations: [CodecConfiguration]
    var decodeErrors: [String]
}

extension ProgramObservation {
    /// Decodes a recording. Blocking; takes about a tenth of the recording's length.
    init(_ recording: FLVRecording, _ configuration: ProbeConfiguration) throws(ProbeError) {
        let trace = try recording.trace()
        var byTime: [Int64: ProgramTrace.Frame] = [:]
        for frame in trace.video { byTime[frame.frame.pts.roundedMilliseconds] = frame }
        let shownAt = trace.showingTimes
        var observer = PictureObserver(configuration)
        var observed: [PictureObservation] = []
        var errors: [String] = []
        let files = try PictureFile.files(of: recording, trace)
        defer { for file in files where file.isTemporary { try? FileManager.default.removeItem(atPath: file.path) } }
        for file in files {
            errors += try PictureDecoder.decode(file.path) { time, picture in
                let time = time - file.offset
                let sight = observer.observe(picture)
                let frame = byTime[time]
                observed.append(
                    PictureObservation(
                        time: time, arrival: shownAt[time], configuration: frame?.configuration ?? -1,
                        readings: sight.readings, shown: sight.shown,
                        isBlack: sight.readings.isEmpty && picture.isBlack, isMoving: sight.isMoving))
            }
        }
        if observed.count != trace.video.count {
            errors.append("\(observed.count) pictures were decoded of \(trace.video.count)")
        }
        let last = trace.lastWhole
        observed.removeAll { $0.time > last }
        let (sound, soundErrors) = try SoundDecoder.decode(trace)
        self.init(
            pictures: observed, sound: sound, timing: TimingAnalysis(trace), configurations: trace.configurations,
            decodeErrors: errors + soundErrors)
    }
}
