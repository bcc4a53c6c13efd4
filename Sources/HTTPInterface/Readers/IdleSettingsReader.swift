import EventSubscription
import MixModel
import RoomService

/// Reads the media that a program plays while no participant can be shown.
struct IdleSettingsReader {
    /// Permitted sources of media.
    var sources: AllowList

    static let expectedName = "a path relative to media.directory, without \"..\", or an http:// or https:// URL"

    func settings(_ fields: FieldReader) throws(InputError) -> IdleSettings {
        var reader = fields
        guard let elements = try reader.array("media"), !elements.isEmpty else {
            throw reader.invalid("media", reader.value("media"), "a list of files or URLs, at least one")
        }
        guard elements.count <= IdleSettings.mostMedia else {
            throw InputError(
                .invalidField, field: reader.path(of: "media"), expected: "at most \(IdleSettings.mostMedia) entries")
        }
        var media: [String] = []
        for (element, path) in elements { media.append(try reference(element, path)) }
        let loop = try reader.boolean("loop") ?? true
        try reader.finish()
        return IdleSettings(media: media, loop: loop)
    }

    private func reference(_ element: JSONValue, _ path: String) throws(InputError) -> String {
        guard case .string(let text) = element else {
            throw InputError(.invalidField, field: path, found: element.summary, expected: Self.expectedName)
        }
        if IdleSettings.isURL(text) {
            return try sources.check(text, schemes: [.http, .https], field: path, setting: "sources.allow").text
        }
        guard MediaLibrary.isName(text) else {
            throw InputError(.invalidField, field: path, found: element.summary, expected: Self.expectedName)
        }
        return text
    }
}
