import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer

/// Writes a stream as the parts of a recording, each with its manifest. Used by one thread; blocks on the disk.
final class Recorder {
    private let settings: RecorderSettings
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
    private static let mostParts = 10_000
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
                if recording == nil { try open(at: item) }
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
    private func open(at item: MediaItem) throws(RecordingFailure) {
        if mkdirs(directory) != 0 { throw RecordingFailure(errno, "be created", path: directory) }
        try checkDisk()
        let continuation = try takeOver()
        recording = ProgramRecording(limits: settings.limits, continuation: continuation)
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
        while part < Self.mostParts {
            part += 1
            if let file = try RecordingFile.make(directory + "/" + settings.fileName(part: part)) { return file }
        }
        throw RecordingFailure(
            "too_many_files", "\(directory): \(Self.mostParts) files of this recording exist already")
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

    /// Indexes files of this recording that were left open. Continues the last one if the settings ask for a single
    /// file.
    private func takeOver() throws(RecordingFailure) -> ProgramRecording.Continuation? {
        var last: (number: Int, file: RecordingFile, movie: [UInt8], index: MP4Index)?
        for number in 1...Self.mostParts {
            let path = directory + "/" + settings.fileName(part: number)
            // A part may have been removed after its upload. Its manifest keeps its number reserved.
            let isHere = access(path, F_OK) == 0
            guard isHere || access(manifestPath(number), F_OK) == 0 else { break }
            part = number
            guard isHere, let file = try RecordingFile.open(existing: path), let (movie, index) = file.readBack() else {
                last = nil
                continue
            }
            if let last { complete(last.number, last.file) }
            last = (number, file, movie, index)
        }
        guard let last else { return nil }
        guard settings.recording.settings.singleFilePerLayer, var manifest = readManifest(last.number),
            let tracks = MP4Movie(box: last.movie)
        else {
            complete(last.number, last.file)
            return nil
        }
        try last.file.reopen()
        file = last.file
        manifest.state = .recording
        manifest.endedAt = nil
        manifest.endReason = nil
        manifest.error = nil
        manifest.duration = last.index.duration
        self.manifest = manifest
        report.file = manifest.file
        report.files += 1
        // The start of the file, on this stream's timeline.
        origin = .seconds(manifest.startedAt - wallClock(at: .zero))
        return ProgramRecording.Continuation(
            movie: tracks, origin: origin, duration: last.index.duration, leavesOutGap: leavesOutGaps)
    }

    private func complete(_ number: Int, _ file: RecordingFile) {
        guard var manifest = readManifest(number), manifest.state == .recording else { return }
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

    private func manifestPath(_ number: Int) -> String {
        directory + "/" + settings.fileName(part: number).dropLast(4) + ".json"
    }

    private func readManifest(_ number: Int) -> RecordingManifest? {
        FileManager.default.contents(atPath: manifestPath(number)).flatMap {
            try? JSONDecoder().decode(RecordingManifest.self, from: $0)
        }
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
        let path = manifestPath(manifest.part)
        let temporary = path + ".new"
        let descriptor = Foundation.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let written = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        if written == data.count { rename(temporary, path) } else { unlink(temporary) }
    }

    /// Creates a directory and its parents, for this user only.
    /// - Returns: 0, or -1 with `errno` set.
    private func mkdirs(_ path: String) -> Int32 {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return 0 }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return -1 }
        guard mkdirs(String(path[..<slash])) == 0 else { return -1 }
        return mkdir(path, 0o700) == 0 || errno == EEXIST ? 0 : -1
    }
}

/// Names of the cues that a relay sends to its recorders.
enum RecorderCue {
    static let switched = "onSwitch"
}
