import LayoutEngine
import TextFormats

/// The JSON that relays of other releases read and the store keeps: each kind of output has a field of its own.
extension ProgramPlan: Codable {
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: FieldName.self)
        self.init(
            revision: try object.decode(Int.self, forKey: "revision"),
            task: try object.decode(TaskID.self, forKey: "task"),
            room: try object.decode(RoomID.self, forKey: "room"),
            sources: try object.decode([PlannedSource].self, forKey: "sources"),
            mode: try object.decode(Mode.self, forKey: "mode"),
            scene: try object.decode(Scene.self, forKey: "scene"),
            outputs: try [PlannedOutput](from: object, of: OutputDocuments.all),
            sourceReach: try object.decodeIfPresent(Reach.self, forKey: "sourceReach"),
            outputReach: try object.decodeIfPresent(Reach.self, forKey: "outputReach"),
            causedAt: try object.decode(Int64.self, forKey: "causedAt"),
            cause: try object.decode(String.self, forKey: "cause"),
            causes: try object.decodeIfPresent([CauseID].self, forKey: "causes"),
            degradation: try object.decodeIfPresent(Degradation.self, forKey: "degradation"),
            tracks: try object.decodeIfPresent(SourceSelection.Tracks.self, forKey: "tracks"),
            encoding: try object.decodeIfPresent(EncodingSettings.self, forKey: "encoding"),
            sei: try object.decodeIfPresent(SEISettings.self, forKey: "sei"),
            isOfOne: try object.decodeIfPresent(Bool.self, forKey: "isOfOne"),
            idle: try object.decodeIfPresent(IdlePlan.self, forKey: "idle"),
            quality: try object.decodeIfPresent(QualityLimits.self, forKey: "quality"),
            redundancy: try object.decodeIfPresent(MixRedundancy.self, forKey: "redundancy"))
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: FieldName.self)
        try object.encode(revision, forKey: "revision")
        try object.encode(task, forKey: "task")
        try object.encode(room, forKey: "room")
        try object.encode(sources, forKey: "sources")
        try object.encode(mode, forKey: "mode")
        try object.encode(scene, forKey: "scene")
        try object.encodeIfPresent(sourceReach, forKey: "sourceReach")
        try object.encodeIfPresent(outputReach, forKey: "outputReach")
        try object.encode(causedAt, forKey: "causedAt")
        try object.encode(cause, forKey: "cause")
        try object.encodeIfPresent(causes, forKey: "causes")
        try object.encodeIfPresent(degradation, forKey: "degradation")
        try object.encodeIfPresent(tracks, forKey: "tracks")
        try object.encodeIfPresent(encoding, forKey: "encoding")
        try object.encodeIfPresent(sei, forKey: "sei")
        try object.encodeIfPresent(isOfOne, forKey: "isOfOne")
        try object.encodeIfPresent(idle, forKey: "idle")
        try object.encodeIfPresent(quality, forKey: "quality")
        try object.encodeIfPresent(redundancy, forKey: "redundancy")
        try outputs.encode(to: &object, of: OutputDocuments.all)
    }
}
