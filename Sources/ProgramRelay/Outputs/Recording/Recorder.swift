import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// Writes a stream as the parts of a recording, each with its manifest. Used by one thread; blocks on the disk.
final class Recorder {
    private let settings: RecorderSettings
    private let parts: RecordingParts
    private let onReport: (RecorderReport) -> Void
    /// Seconds since 1970 at time 0 of the stream as it is read here; `nil` = taken when its first frame comes.
    private let wallClockAtZero: Double?
    private var reader = FLVReader()
    private var recording: ProgramRecording?
    private var file: RecordingFile?
    private var manifest: RecordingManifest?
    private var part = 0
    /// Time 0 of the current part, on the stream's timeline.
    private var origin = MediaTime.zero
    /// Switches that were reported before the part that contains them began.
    private var waitingSwitches: [RecordingManifest.Switch] = []
    private var report = RecorderReport(state: .starting)
    private var bytesBefore: Int64 = 0
    private var secondsBefore = 0.0
    private var lastReportAt: Int64 = 0
    private var lastManifestAt: Int64 = 0

    private var directory: String { settings.recording.directory }
    private static let reportInterval: Int64 = 1_000_000_000
    private static let manifestInterval: Int64 = 10_000_000_000
    /// Number of the newest parts that are searched for files that a lost recorder left open.
    private static let mostSearched = 1_000
    private static let mostSwitches = 10_000
    /// Seconds after which FLV's timestamps begin anew: 49.7 days. Who begins to read later reads times that are smaller by
    /// whole periods.
    private static let period = 4_294_967.296

    /// - Parameter now: Seconds since 1970.
    init(
        settings: RecorderSettings, now: Double = Date().timeIntervalSince1970,
        onReport: @escaping (RecorderReport) -> Void
    ) {
        self.settings = settings
        parts = RecordingParts(settings)
        self.onReport = onReport
        wallClockAtZero = settings.wallClockAtZero.map { zero in
            zero + max(((now - zero) / Self.period).rounded(.down), 0) * Self.period
        }
    }

    /// Whether the recorder writes nothing more: it failed, reached a limit, or another process must take over.
    var isOver: Bool { report.state == .failed || report.state == .ended || report.state == .recovering }

    /// Records the next bytes of an FLV stream.
    func push(_ bytes: [UInt8]) throws {
        guard !isOver else { return }
        for item in try reader.push(bytes) where !isOver && takes(item) {
            if case .metadata(let body) = item { takeCue(body) }
            guarded { () throws(RecordingFailure) in
                if recording == nil { try open() }
                try perform(recording?.take(item) ?? [])
            }
        }
    }

    /// Returns whether an item is recorded, or describes recorded items.
    private func takes(_ item: MediaItem) -> Bool {
        guard settings.recording.settings.audioOnly == true else { return true }
        return switch item {
        case .configuration(let configuration): configuration.track == .audio
        case .frame(let frame): frame.track == .audio
        case .metadata, .discontinuity: true
        }
    }

    /// Closes the current part.
    func finish() {
        guard !isOver else { return }
        guarded { () throws(RecordingFailure) in try perform(recording?.finish() ?? []) }
        tell()
    }

    private func guarded(_ body: () throws(RecordingFailure) -> Void) {
        do throws(RecordingFailure) {
            try body()
        } catch {
            fail(error)
        }
    }

    // MARK: - Parts

    /// Creates the directory, and takes over the files that a lost recorder has left of this recording.
    ///
    /// The limits count all parts, so a recording that has reached one of them ends here.
    private func open() throws(RecordingFailure) {
        if RecordingParts.makeDirectory(directory) != 0 { throw RecordingFailure(errno, "be created", path: directory) }
        try checkDisk()
        let numbers = parts.numbers
        part = numbers.last ?? 0
        for number in numbers.dropLast().suffix(Self.mostSearched) { complete(number) }
        let left = numbers.last.flatMap { continuable($0) }
        if left == nil, let number = numbers.last { complete(number) }

        var limits = settings.limits
        var before = (seconds: 0.0, bytes: Int64(0))
        if limits.seconds != nil || limits.bytes != nil {
            before = parts.total(of: left == nil ? numbers[...] : numbers.dropLast())
        }
        let seconds = before.seconds + (left?.index.duration ?? 0)
        let bytes = before.bytes.saturatingSum(left?.file.size ?? 0)
        // Sums of durations are rounded.
        if limits.seconds.map({ seconds >= $0 - 0.001 }) ?? false || limits.bytes.map({ bytes >= $0 }) ?? false {
            if let left { complete(left.manifest, left.file) }
            (secondsBefore, bytesBefore) = (seconds, bytes)
            report.state = .ended
            return tell()
        }
        // The duration of a continued part is counted with the part, but its bytes are not.
        limits.seconds = limits.seconds.map { $0 - before.seconds }
        limits.bytes = limits.bytes.map { $0 - bytes }
        var continuation: ProgramRecording.Continuation?
        if let left { continuation = try reopen(left) }
        recording = ProgramRecording(limits: limits, continuation: continuation)
    }

    private func perform(_ actions: [ProgramRecording.Action]) throws(RecordingFailure) {
        for action in actions {
            switch action {
            case .begin(let movie, let time): try begin(movie, at: time)
            case .write(let bytes, let duration): try write(bytes, duration)
            case .end(let reason): try end(reason.rawValue)
            case .finished(let reason):
                try end(reason.rawValue)
                if reason == .maxSeconds || reason == .maxBytes { report.state = .ended }
                tell()
            }
        }
    }

    private func begin(_ movie: MP4Movie, at time: MediaTime) throws(RecordingFailure) {
        // Ends a part that cannot be continued as planned.
        try end("tracksChanged")
        origin = time
        let file = try newFile()
        try file.append(movie.header, index: 0)
        self.file = file
        let name = settings.fileName(part: part)
        manifest = RecordingManifest(
            room: settings.room, task: settings.task, recording: settings.recording.id, source: settings.source,
            file: name, part: part, startedAt: wallClock(at: time), hasVideo: movie.video != nil,
            hasAudio: movie.audio != nil)
        takeWaitingSwitches()
        report.state = .recording
        report.file = name
        report.files += 1
        writeManifest()
        tell()
    }

    private func newFile() throws(RecordingFailure) -> RecordingFile {
        while part < RecordingParts.most {
            part += 1
            if let file = try RecordingFile.make(parts.path(part)) { return file }
        }
        throw RecordingFailure(
            "too_many_files", "\(directory): \(RecordingParts.most) files of this recording exist already")
    }

    private func write(_ bytes: [UInt8], _ duration: Double) throws(RecordingFailure) {
        try checkDisk()
        try file?.append(bytes, index: MP4Index.estimatedSize(afterSeconds: duration))
        manifest?.duration = duration
        manifest?.bytes = file?.size ?? 0
        if !waitingSwitches.isEmpty { takeWaitingSwitches() }
        if report.state == .starting {
            // The part was begun by another recorder.
            report.state = .recording
            tell()
        }
        let now = MonotonicClock.now()
        if now - lastReportAt >= Self.reportInterval { tell() }
        if now - lastManifestAt >= Self.manifestInterval { writeManifest() }
    }

    private func end(_ reason: String, error: ServiceState.Failure? = nil) throws(RecordingFailure) {
        guard let file else { return }
        self.file = nil
        var failure: RecordingFailure?
        do throws(RecordingFailure) { try file.finish() } catch { failure = error }
        manifest?.state = failure == nil ? .complete : .unindexed
        manifest?.bytes = file.size
        manifest?.endedAt = Date().timeIntervalSince1970
        manifest?.endReason = error?.code ?? reason
        manifest?.error = error ?? failure?.failure
        writeManifest()
        secondsBefore += manifest?.duration ?? 0
        bytesBefore += file.size
        manifest = nil
        if let failure { throw failure }
    }

    private func fail(_ error: RecordingFailure) {
        report.error = error.failure
        // The current part gets its index if possible, and its manifest in any case.
        try? end(error.failure.code, error: error.failure)
        // Another process may succeed where this one fails.
        report.state = error.isPassing ? .recovering : .failed
        tell()
    }

    private func checkDisk() throws(RecordingFailure) {
        let keep = settings.recording.keepFreeBytes
        guard keep > 0, let free = RecordingFile.freeBytes(at: directory), free < keep else { return }
        throw .nearlyFull(directory, free: free, keep: keep)
    }

    // MARK: - Files left by another recorder

    /// A file that this recorder can continue.
    private struct Left {
        var file: RecordingFile
        var movie: MP4Movie
        var index: MP4Index
        var manifest: RecordingManifest
    }

    /// Opens a part that is to be continued; `nil` if the settings do not ask for a single file, or the file cannot be
    /// continued.
    private func continuable(_ number: Int) -> Left? {
        guard settings.recording.settings.singleFilePerLayer, let manifest = parts.manifest(number),
            let file = try? RecordingFile.open(existing: parts.path(number)), let (bytes, index) = file.readBack(),
            let movie = MP4Movie(box: bytes)
        else { return nil }
        return Left(file: file, movie: movie, index: index, manifest: manifest)
    }

    private func reopen(_ left: Left) throws(RecordingFailure) -> ProgramRecording.Continuation {
        try left.file.reopen()
        file = left.file
        var manifest = left.manifest
        manifest.state = .recording
        manifest.endedAt = nil
        manifest.endReason = nil
        manifest.error = nil
        manifest.duration = left.index.duration
        self.manifest = manifest
        report.file = manifest.file
        report.files += 1
        // The start of the file, on this stream's timeline.
        origin = .seconds(manifest.startedAt - wallClock(at: .zero))
        return ProgramRecording.Continuation(
            movie: left.movie, origin: origin, duration: left.index.duration, leavesOutGap: leavesOutGaps)
    }

    /// Indexes a part that was left open. One that is complete is not opened: it may have been made read-only, and
    /// reading many long ones takes minutes.
    private func complete(_ number: Int) {
        guard let manifest = parts.manifest(number), manifest.state == .recording,
            let file = try? RecordingFile.open(existing: parts.path(number)), file.readBack() != nil
        else { return }
        complete(manifest, file)
    }

    private func complete(_ manifest: RecordingManifest, _ file: RecordingFile) {
        guard manifest.state == .recording else { return }
        var manifest = manifest
        manifest.state = (try? file.finish()) == nil ? .unindexed : .complete
        manifest.duration = file.readBack()?.index.duration ?? manifest.duration
        manifest.bytes = file.size
        manifest.endReason = "recorderLost"
        write(manifest)
    }

    // MARK: - Manifest and reports

    private func takeCue(_ body: [UInt8]) {
        guard let cue = FLVCue(body: body), cue.name == RecorderCue.switched,
            let change = try? JSONDecoder().decode(RecordingManifest.Switch.self, from: Data(cue.text.utf8))
        else { return }
        waitingSwitches.append(change)
        if waitingSwitches.count > 100 { waitingSwitches.removeFirst() }
        guard manifest != nil else { return }
        takeWaitingSwitches()
        writeManifest()
    }

    private var leavesOutGaps: Bool { settings.recording.settings.leavesOutGaps == true }

    private func takeWaitingSwitches() {
        // A part that continues after a pause is placed on the timeline by its first frame.
        if leavesOutGaps, file != nil {
            guard let new = recording?.origin else { return }
            origin = new
        }
        for var change in waitingSwitches {
            change.at -= origin.inSeconds
            change.at -= ((change.at - (manifest?.duration ?? 0)) / Self.period).rounded() * Self.period
            // A switch that is repeated with other headers, or that precedes the first frame, does not belong to this
            // file.
            guard change.at >= -0.001,
                manifest?.switches.contains(where: { $0.wallClock == change.wallClock }) == false,
                manifest?.switches.count ?? 0 < Self.mostSwitches
            else { continue }
            change.at = max(change.at, 0)
            manifest?.switches.append(change)
        }
        waitingSwitches = []
    }

    private func wallClock(at time: MediaTime) -> Double {
        wallClockAtZero.map { $0 + time.inSeconds } ?? Date().timeIntervalSince1970
    }

    private func tell() {
        lastReportAt = MonotonicClock.now()
        report.seconds = secondsBefore + (manifest?.duration ?? 0)
        report.bytes = bytesBefore + (file?.size ?? 0)
        onReport(report)
    }

    private func writeManifest() {
        lastManifestAt = MonotonicClock.now()
        if let manifest { write(manifest) }
    }

    /// Writes a manifest. A failure does not affect the recording.
    private func write(_ manifest: RecordingManifest) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(manifest) else { return }
        let path = parts.manifestPath(manifest.part)
        let temporary = path + ".new"
        let descriptor = Foundation.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let written = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        if written == data.count { rename(temporary, path) } else { unlink(temporary) }
    }
}

/// Names of the cues that a relay sends to its recorders.
enum RecorderCue {
    static let switched = "onSwitch"
}
