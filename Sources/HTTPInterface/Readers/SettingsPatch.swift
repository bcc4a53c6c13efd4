import EventSubscription
import MixModel
import RoomService
import TextFormats

/// A JSON merge patch (RFC 7396) of the settings of a room or a task.
struct SettingsPatch: Sendable {
    private let document: JSONValue
    private let params: LayoutParamsReader.Patch?
    private let reader: RoomSettingsReader

    /// - Parameters:
    ///   - body: JSON.
    ///   - layout: Layout of the settings, which the patch may replace.
    ///   - reader: Reader with the caller's permissions.
    /// - Throws: `InputError` if the body is not JSON.
    init(
        _ body: [UInt8], layout: String, _ reader: RoomSettingsReader, _ params: LayoutParamsReader
    ) async throws {
        document = try JSONValue(parsing: body)
        var layout: String? = layout
        if case .object(let fields) = document, let named = fields["layout"] {
            layout = if case .string(let name) = named { name } else { nil }
        }
        self.params = await params.patch(in: body, key: "params", layout: layout)
        self.reader = reader
    }

    /// Returns the settings after the patch.
    ///
    /// - Parameter check: Throws if the resulting settings are not allowed.
    func applied(
        to current: RoomSettings, in room: RoomID, check: (RoomSettings) throws(InputError) -> Void
    ) throws(OrchestratorError) -> RoomSettings {
        let changed: RoomSettings
        do throws(InputError) {
            var patched = try reader.settings(patching: current, with: document, room: room)
            // A recording that stays as it is keeps even a missing identifier of an earlier release.
            if patched.recording != current.recording {
                patched.recording = patched.recording?.following(current.recording)
            }
            try check(patched)
            changed = patched
        } catch {
            throw OrchestratorError(error)
        }
        return try params?.applied(to: changed) ?? changed
    }
}
