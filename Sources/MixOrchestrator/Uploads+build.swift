import HTTPInterface
import Logging
import RoomService

/// Returns what uploads recordings and archives; `nil` without a storage in the configuration.
func uploader(_ configuration: OrchestratorConfiguration, _ metrics: Metrics, _ logger: Logger) -> Uploader? {
    configuration.uploads.map { uploads in
        var sources: [any UploadSource] = []
        if uploads.takesRecordings { sources.append(RecordingSource(place: configuration.recordings)) }
        if uploads.takesArchives {
            sources.append(ArchiveSource(files: HLSFiles(directory: configuration.hlsDirectory)))
        }
        return Uploader(uploads.settings, sources: sources, metrics: metrics, logger: logger)
    }
}

/// Returns the routes of recordings, with the files' uploads.
func recordingController(
    _ configuration: OrchestratorConfiguration, _ registry: RoomRegistry, _ uploads: Uploader?
) -> RecordingController {
    let settings = configuration.uploads
    return RecordingController(
        registry: registry,
        shelf: RecordingShelf(
            place: configuration.recordings, uploads: settings?.takesRecordings == true ? uploads : nil),
        archives: settings?.takesArchives == true
            ? uploads.map { ArchiveShelf(files: HLSFiles(directory: configuration.hlsDirectory), uploads: $0) } : nil)
}
