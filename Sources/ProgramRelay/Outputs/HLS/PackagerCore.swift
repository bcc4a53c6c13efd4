import EncodedMedia
import Foundation
import Logging
import MediaFormats
import MixModel

/// The state of a packager, and the writing of the files that represent it.
struct PackagerCore: Sendable {
    private struct Rendition: Sendable {
        let settings: HLSRendition
        var assembler = RenditionAssembler()
        var writer = TransportStreamWriter()
        var error: String?
    }

    private let plan: PlannedHLS
    private let logger: Logger
    private let keepFreeBytes: Int64
    private let report: @Sendable (HLSStatus) -> Void

    private var reader = FLVReader()
    private var videoCodec = VideoCodec.h264
    private var segmenter: ProgramSegmenter
    private var writer = TransportStreamWriter()
    private var renditions: [Rendition]
    private var session: PackagerSession?
    private var failure: ServiceState.Failure?
    /// Whether a segment is missing, so that the next one does not follow the last.
    private var isBroken = false
    private var told: HLSStatus?

    init(
        _ plan: PlannedHLS, logger: Logger, keepFreeBytes: Int64, report: @escaping @Sendable (HLSStatus) -> Void
    ) {
        self.plan = plan
        self.logger = logger
        self.keepFreeBytes = keepFreeBytes
        self.report = report
        session = PackagerSession(resuming: plan.directory, settings: plan.settings, now: Self.now)
        segmenter = ProgramSegmenter(
            segmentSeconds: plan.settings.segmentSeconds, targetDuration: session?.targetDuration)
        renditions = plan.settings.renditions.map { Rendition(settings: $0) }
        if let session { logger.info("resumes session \(session.name) at segment \(session.nextNumber)") }
        tell()
    }

    private static var now: Double { Date().timeIntervalSince1970 }

    /// Processes the next bytes of the program and publishes the segments that they complete.
    /// - Returns: Video tags for the transcoders.
    mutating func push(_ bytes: some Collection<UInt8>) throws -> [FLVTag] {
        var tags: [FLVTag] = []
        for item in try reader.push(bytes) {
            if !renditions.isEmpty {
                switch item {
                case .configuration(let configuration) where configuration.track == .video:
                    videoCodec = configuration.videoCodec ?? .h264
                    tags.append(FLVTag(configuration, at: .zero, origin: .zero))
                case .frame(let frame) where frame.track == .video:
                    tags.append(FLVTag(frame, videoCodec: videoCodec, origin: .zero))
                default: break
                }
            }
            for segment in segmenter.push(item, wallClock: Int64(Self.now * 1000)) { publish(segment) }
        }
        return tags
    }

    mutating func finishProgram() {
        for segment in segmenter.finish() { publish(segment) }
    }

    mutating func finishRenditions(isInterrupted: Bool) {
        for index in renditions.indices { assemble(index, isEnding: true) }
        guard !isInterrupted, var session else { return }
        do {
            try session.end()
        } catch {
            failed(error)
        }
        self.session = nil
        tell()
    }

    // MARK: - The program

    private mutating func publish(_ segment: ProgramSegment) {
        var segment = segment
        if isBroken { segment.isDiscontinuity = true }
        do {
            try checkSpace()
            var session = try self.session ?? makeSession()
            let number = session.nextNumber
            let bytes = writer.segment(
                segment.frames, video: segment.video, audio: segment.audio, isDiscontinuity: segment.isDiscontinuity)
            // Kept even after a failure: the file may exist, and its number must not be used twice.
            defer {
                self.session = session
                // Its renditions have the same number, even if only a playlist could not be written.
                if session.nextNumber > number {
                    for index in renditions.indices { renditions[index].assembler.push(segment, number: number) }
                }
            }
            try session.append(bytes, of: segment, number: number, variant: 0, now: Self.now)
            isBroken = false
            if failure != nil { logger.notice("segments are being written again") }
            failure = nil
        } catch let error as SessionFiles.Failure {
            isBroken = true
            failed(error)
        } catch {
            isBroken = true
        }
        for index in renditions.indices { assemble(index) }
        tell()
    }

    /// Segments that are all kept fill any disk, on which the service's store may be as well.
    private func checkSpace() throws(SessionFiles.Failure) {
        guard plan.settings.enableVOD, let free = RecordingFile.freeBytes(at: plan.directory), free < keepFreeBytes
        else { return }
        throw SessionFiles.Failure(
            "disk_nearly_full",
            "\(plan.directory): less than \(keepFreeBytes >> 20) MiB is free, which HLS that keeps its segments leaves to "
                + "others: free disk space or set hls.directory to another disk; it resumes by itself")
    }

    private func makeSession() throws(SessionFiles.Failure) -> PackagerSession {
        let target = segmenter.targetDuration ?? plan.settings.segmentSeconds
        let session = try PackagerSession(
            in: plan.directory, settings: plan.settings, targetDuration: target, now: Self.now)
        logger.info("session \(session.name), target duration \(target) s")
        return session
    }

    private mutating func failed(_ failure: SessionFiles.Failure) {
        if self.failure != failure.state { logger.error("\(failure.state.code): \(failure.state.message)") }
        self.failure = failure.state
    }

    // MARK: - Renditions

    mutating func transcoded(_ message: RenditionReport, rendition index: Int) {
        switch message {
        case .configuration(let data):
            renditions[index].assembler.push(CodecConfiguration(track: .video, bytes: [UInt8](data)))
        case .picture(let time, let isIDR, let payload):
            let time = MediaTime.milliseconds(time)
            renditions[index].assembler.push(
                EncodedFrame(track: .video, pts: time, dts: time, isIDR: isIDR, payload: [UInt8](payload)))
            assemble(index)
        case .failed(let reason): failed(reason, rendition: index)
        }
    }

    mutating func failed(_ reason: String, rendition index: Int) {
        logger.warning("rendition \(renditions[index].settings.name): \(reason)")
        renditions[index].error = reason
        tell()
    }

    private mutating func assemble(_ index: Int, isEnding: Bool = false) {
        while let (number, source, made) = renditions[index].assembler.next(isEnding: isEnding) {
            guard session != nil else { return }
            var bytes: [UInt8]?
            if let made {
                bytes = renditions[index].writer.segment(
                    made.frames, video: made.video, audio: made.audio, isDiscontinuity: made.isDiscontinuity)
                renditions[index].error = nil
            } else if renditions[index].error == nil {
                renditions[index].error = "segment \(number) was not transcoded in time: the machine is too slow for it"
            }
            do {
                try session?.append(bytes, of: made ?? source, number: number, variant: index + 1, now: Self.now)
            } catch {
                // Every rendition has the program's segment numbers, even where a file is missing. After the failure of
                // a playlist it has the number already.
                if let next = session?.record.variants[index + 1].nextNumber, next <= number {
                    try? session?.append(nil, of: source, number: number, variant: index + 1, now: Self.now)
                }
                failed(error)
            }
            tell()
        }
    }

    // MARK: - Status

    private mutating func tell() {
        let status = status
        guard status != told else { return }
        told = status
        report(status)
    }

    private var status: HLSStatus {
        guard let session else { return HLSStatus(service: ServiceState(running: false, error: failure)) }
        let metadata = [plan.settings.metadata] + plan.settings.renditions.map(\.metadata)
        let variants = session.record.variants.enumerated().map { index, variant in
            let format = variant.format
            return HLSVariantStatus(
                name: variant.name, metadata: metadata[index], width: format.width, height: format.height,
                bandwidth: MasterPlaylist.step(max(variant.peakBandwidth, variant.averageBandwidth)),
                error: index > 0 ? renditions[index - 1].error : nil)
        }
        return HLSStatus(
            service: ServiceState(running: failure == nil && session.nextNumber > 0, error: failure),
            session: session.name, startedAt: session.record.startedAt, variants: variants)
    }
}

extension HLSStatus: ConsumerReport {
    var finalFailure: String? { nil }
}
