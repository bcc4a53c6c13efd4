import HTTPInterface
import Logging
import RoomService

/// Returns the maker of recordings' pictures for the upload; `nil` if they are not uploaded, or there is no decoder.
func recordingThumbnails(
    _ configuration: OrchestratorConfiguration, _ maker: (any PreviewMaking)?, _ logger: Logger
) -> RecordingThumbnails? {
    guard let uploads = configuration.uploads, uploads.takesRecordings, uploads.takesThumbnails, let maker,
        let settings = configuration.thumbnails
    else { return nil }
    return RecordingThumbnails(
        place: configuration.recordings, maker: maker, side: settings.size, interval: uploads.settings.interval,
        logger: logger)
}

/// Returns the uploader of recordings, their pictures and archives; `nil` without a storage in the configuration.
func uploader(
    _ configuration: OrchestratorConfiguration, _ thumbnails: RecordingThumbnails?, _ metrics: Metrics,
    _ logger: Logger
) -> Uploader? {
    configuration.uploads.map { uploads in
        var sources: [any UploadSource] = []
        if uploads.takesRecordings {
            sources.append(RecordingSource(place: configuration.recordings, thumbnails: thumbnails))
        }
        if thumbnails != nil { sources.append(ThumbnailSource(place: configuration.recordings)) }
        if uploads.takesArchives {
            sources.append(ArchiveSource(files: HLSFiles(directory: configuration.hlsDirectory)))
        }
        return Uploader(uploads.settings, sources: sources, metrics: metrics, logger: logger)
    }
}

/// Returns the shelves of recordings and archives, with their uploads.
func shelves(
    _ configuration: OrchestratorConfiguration, _ uploads: Uploader?
) -> (recordings: RecordingShelf, archives: ArchiveShelf?) {
    let settings = configuration.uploads
    return (
        RecordingShelf(place: configuration.recordings, uploads: settings?.takesRecordings == true ? uploads : nil),
        settings?.takesArchives == true
            ? uploads.map { ArchiveShelf(files: HLSFiles(directory: configuration.hlsDirectory), uploads: $0) } : nil
    )
}
