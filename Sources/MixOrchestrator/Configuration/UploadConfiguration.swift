import HTTPInterface
import ObjectStorage
import RoomService

/// The settings under `upload`. Uploads are on if `upload.endpoint` names a storage.
struct UploadConfiguration: Sendable {
    var settings: UploadSettings
    /// Whether recordings, and archives of HLS, are uploaded.
    var takesRecordings: Bool
    var takesArchives: Bool
    /// Whether a thumbnail of each recording is uploaded.
    var takesThumbnails: Bool
    /// Problems that do not prevent the service from starting but should be fixed.
    var warnings: [String] = []

    private enum Local: String, CaseIterable { case keep, remove }
    private enum Verification: String, CaseIterable { case checksum, size }
    /// Lowest limit of bandwidth in bytes per second.
    private static let slowest = 16_384

    /// - Parameter file: The configuration file, whose permissions are checked if it contains a secret.
    /// - Returns: `nil` if uploads are off.
    init?(_ values: ConfigurationValues, file: String?) throws(StartupError) {
        var holder = PlaybackSettings()
        let main = try Self.target(.main, "upload", values, &holder, file: file)
        let backup = try Self.target(.backup, "upload.backup", values, &holder, file: file)
        settings = UploadSettings(targets: [main, backup].compactMap(\.self))
        let parts = Int(PartPlan.partSizes.lowerBound)...Int(PartPlan.partSizes.upperBound)
        settings.partBytes = try values.integer("upload.partBytes", in: parts).map(Int64.init) ?? settings.partBytes
        settings.concurrency = try values.integer("upload.concurrency", in: 1...16) ?? settings.concurrency
        if let rate = try values.integer("upload.bytesPerSecond", in: 0...1 << 40), rate != 0 {
            guard rate >= Self.slowest else {
                throw StartupError(
                    "configuration: upload.bytesPerSecond: found \"\(rate)\"; expected at least \(Self.slowest), or 0 "
                        + "for no limit")
            }
            settings.bytesPerSecond = rate
        }
        settings.mostWaiting = try values.integer("upload.maxWaiting", in: 1...100_000) ?? settings.mostWaiting
        let local: Local? = try values.choice("upload.local")
        settings.keepsFiles = local != .remove
        let verification: Verification? = try values.choice("upload.verify")
        settings.trustsSize = verification == .size
        settings.linkSeconds = try values.integer("upload.linkSeconds", in: 1...604_800) ?? settings.linkSeconds
        if let seconds = try values.number("upload.scanSeconds", in: 0.1...3600) {
            settings.interval = .seconds(seconds)
        }
        if let seconds = try values.number("upload.retrySeconds", in: 0.1...3600) {
            settings.shortestDelay = .seconds(seconds)
        }
        if let hours = try values.number("upload.giveUpHours", in: 0.001...8760) {
            settings.giveUpAfter = .seconds(hours * 3600)
        }
        takesRecordings = try values.flag("upload.recordings") ?? true
        takesArchives = try values.flag("upload.hls") ?? true
        takesThumbnails = try values.flag("upload.thumbnails") ?? true
        guard main != nil else {
            guard backup == nil else {
                throw StartupError(
                    "configuration: upload.backup.endpoint: found without upload.endpoint; expected both")
            }
            return nil
        }
        warnings = holder.warnings
        for target in settings.targets where target.place.isReadable {
            warnings.append(
                "uploads to \(target.place.endpoint) are not encrypted: everyone on the way can read them; use https://"
            )
        }
    }

    /// Reads one storage; `nil` if it has no endpoint.
    private static func target(
        _ name: UploadTarget.Name, _ group: String, _ values: ConfigurationValues, _ holder: inout PlaybackSettings,
        file: String?
    ) throws(StartupError) -> UploadTarget? {
        let style: StoragePlace.Style? = try values.choice("\(group).style")
        let secret = try holder.key(
            "\(group).secretKey", values, file: file, lengths: StorageCredentials.secretKeyLengths)
        guard let endpoint = values.text("\(group).endpoint") else {
            guard secret == nil, values.text("\(group).bucket") == nil else {
                throw StartupError(
                    "configuration: \(group).endpoint: found nothing beside other settings of a storage; expected "
                        + "https://host[:port]")
            }
            return nil
        }
        let keys = try keys(group, secret, values, &holder)
        do {
            let place = try StoragePlace(
                endpoint: endpoint, region: values.text("\(group).region") ?? "us-east-1",
                bucket: values.text("\(group).bucket") ?? "", style: style ?? .path,
                prefix: values.text("\(group).prefix") ?? StoragePlace.standardPrefix)
            return UploadTarget(name: name, place: place, keys: keys)
        } catch {
            throw StartupError(
                "configuration: \(group).\(error.field): found \(error.found); expected \(error.expected)")
        }
    }

    /// Reads the keys of a storage, from the configuration or from separate files.
    private static func keys(
        _ group: String, _ secret: String?, _ values: ConfigurationValues, _ holder: inout PlaybackSettings
    ) throws(StartupError) -> StorageKeys {
        let accessKey = values.text("\(group).accessKey")
        if let file = values.text("\(group).credentialsFile") {
            guard accessKey == nil, secret == nil else {
                throw StartupError(
                    "configuration: \(group).credentialsFile: found beside accessKey or secretKey; expected either")
            }
            guard let keys = StorageKeys(file: file) else {
                throw StartupError(
                    "configuration: \(group).credentialsFile: found \"\(file)\"; expected a readable file with lines "
                        + "aws_access_key_id = …, aws_secret_access_key = … and, for temporary keys, "
                        + "aws_session_token = …")
            }
            holder.warn(ifOpen: file)
            return keys
        }
        guard let accessKey, let secret else {
            throw StartupError(
                "configuration: \(group).\(secret == nil ? "secretKey" : "accessKey"): found nothing; expected "
                    + "accessKey and secretKey (or secretKeyFile) of the storage, or credentialsFile")
        }
        guard StorageCredentials.isAccessKey(accessKey) else {
            throw StartupError(
                "configuration: \(group).accessKey: found another text; expected 1 to 128 ASCII characters without "
                    + "spaces and without / , =")
        }
        return StorageKeys(StorageCredentials(accessKey: accessKey, secretKey: secret))
    }
}
