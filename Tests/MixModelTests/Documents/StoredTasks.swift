/// Documents of tasks as earlier versions stored them.
enum StoredTasks {
    /// Documents by the state that they are in.
    static let samples: [String: String] = [
        "waiting for the first stream":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"waiting":{}},"revision":0,"pending":[],"deadlines":0,
        "failedLaunches":0}
        """#,
        "waiting for capacity":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"waiting":{"after":"noCapacity"}},"revision":0,
        "lastError":"no capacity: the program needs 0.32 cores, 0.05 are free; the task starts automatically when enough cores are free",
        "refusal":{"neededCores":0.31790559999999995,"availableCores":0.05,"bookedCores":0.01,"retryAfter":5},
        "pending":[],"deadlines":0,"failedLaunches":0}
        """#,
        "starting with a held change":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"starting":{}},"plan":\#(bypassPlan),"revision":1,"host":"alice",
        "sourceFacts":{"absent":[],"pictureSizes":[]},"quietUntil":1300000000,"pending":[{"receivedAt":1000000000,
        "summary":"stream.published bob/camera","id":"c2"}],"replanDeadline":1,"deadlines":1,"failedLaunches":0,
        "relayCauses":["c1"]}
        """#,
        "starting again":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"starting":{}},"plan":\#(bypassPlan),"revision":1,"host":"alice",
        "sourceFacts":{"absent":[],"pictureSizes":[]},"lastError":"no mixworker","quietUntil":1300000000,
        "pending":[{"receivedAt":1000000000,"summary":"stream.published bob/camera","id":"c2"}],
        "replanDeadline":1,"relaunchDeadline":2,"deadlines":2,"failedLaunches":1,"relayCauses":["c3"]}
        """#,
        "running a mix":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"running":{}},"plan":\#(mixPlan),"revision":2,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "quietUntil":1810000000,"pending":[],"deadlines":0,"failedLaunches":0,"connectedAt":1010000000,
        "relayCauses":["c1"]}
        """#,
        "recovering":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"recovering":{}},"plan":\#(mixPlan),"revision":2,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "lastError":"killed","quietUntil":1810000000,"pending":[],"relaunchDeadline":1,"deadlines":1,
        "failedLaunches":1,"relayCauses":["c3"]}
        """#,
        "running before its relaunch is due":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"running":{}},"plan":\#(mixPlan),"revision":2,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "quietUntil":1810000000,"pending":[],"relaunchDeadline":1,"deadlines":1,"failedLaunches":1,
        "connectedAt":1510000000,"relayCauses":["c3"]}
        """#,
        "recovering after a restart":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"recovering":{}},"plan":\#(mixPlan),"revision":2,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "pending":[],"deadlines":1,"failedLaunches":0,"relayCauses":["c5"]}
        """#,
        "ending by request":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"ending":{"_0":"requested"}},"revision":2,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "lastError":"killed","pending":[],"deadlines":1,"failedLaunches":1,"relayCauses":["c9"]}
        """#,
        "held until the room is empty":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"held":{}},"revision":2,"sourceFacts":{"absent":["eve/camera"],
        "pictureSizes":["alice/camera",{"width":640,"height":360}]},"pending":[],"deadlines":1,"failedLaunches":1,
        "relayCauses":["c9"]}
        """#,
        "ending with its host":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"ending":{"_0":"hostLeft"}},"revision":3,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "pending":[],"deadlines":0,"failedLaunches":0,"connectedAt":1010000000,"relayCauses":["c5"]}
        """#,
        "held until the host comes":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"held":{"until":"alice"}},"revision":3,"sourceFacts":{
        "absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},"pending":[],
        "deadlines":0,"failedLaunches":0,"connectedAt":1010000000,"relayCauses":["c5"]}
        """#,
        "running in an empty room":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"running":{}},"plan":{"revision":4,"task":"auto-demo",
        "room":"demo","sources":[],"mode":{"slate":{}},"scene":{"canvas":{"width":720,"height":1280,"fps":20,
        "background":"#000000"},"panes":[],"overlays":[],"sound":{"levels":[]},"transition":{"duration":0,
        "easing":"linear"}},"outputs":[{"id":"main","url":"rtmp://127.0.0.1/out/demo"}],"causedAt":2510000000,
        "cause":"stream.unpublished alice/camera","causes":["c5"]},"revision":4,"host":"alice","sourceFacts":{
        "absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "quietUntil":2810000000,"pending":[],"idleDeadline":1,"deadlines":1,"failedLaunches":0,
        "connectedAt":1010000000,"relayCauses":["c1"]}
        """#,
        "ending by idleness":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"ending":{"_0":"idle"}},"revision":4,"host":"alice",
        "sourceFacts":{"absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "pending":[],"deadlines":1,"failedLaunches":0,"connectedAt":1010000000,"relayCauses":["c6"]}
        """#,
        "waiting after idleness":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"waiting":{"after":"idle"}},"revision":4,"sourceFacts":{
        "absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},"pending":[],
        "deadlines":1,"failedLaunches":0,"connectedAt":1010000000,"relayCauses":["c6"]}
        """#,
        "waiting for capacity after a program":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"waiting":{"after":"noCapacity"}},"revision":4,"sourceFacts":{
        "absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "lastError":"no capacity: the program needs 0.32 cores, 0.05 are free; the task starts automatically when enough cores are free",
        "refusal":{"neededCores":0.31790559999999995,"availableCores":0.05,"bookedCores":0.01,"retryAfter":5},
        "pending":[],"deadlines":1,"failedLaunches":0,"connectedAt":1010000000,"relayCauses":["c6"]}
        """#,
        "starting the next program":
            #"""
        {"id":"auto-demo","room":"demo","phase":{"starting":{}},"plan":{"revision":5,"task":"auto-demo",
        "room":"demo","sources":[{"id":"alice/camera","url":"rtmp://127.0.0.1/alice","audio":true,"video":true}],
        "mode":{"bypass":{"_0":"alice/camera"}},"scene":{"canvas":{"width":720,"height":1280,"fps":20,
        "background":"#000000"},"panes":[{"source":"alice/camera","user":"alice","x":0,"y":0,"width":720,
        "height":1280,"z":0,"fit":"cover","align":"center","opacity":1.0,"isLive":true,"fallback":{"lastFrame":{
        }},"card":{"name":"alice","initials":"A","colour":"#A83B72"}}],"overlays":[],"sound":{"levels":[{
        "source":"alice/camera","gain":100}]},"transition":{"duration":0,"easing":"linear"}},"outputs":[{
        "id":"main","url":"rtmp://127.0.0.1/out/demo"}],"causedAt":122510000000,
        "cause":"stream.published alice/camera","causes":["c7"]},"revision":5,"host":"alice","sourceFacts":{
        "absent":["eve/camera"],"pictureSizes":["alice/camera",{"width":640,"height":360}]},
        "quietUntil":122810000000,"pending":[],"deadlines":1,"failedLaunches":0,"connectedAt":1010000000,
        "relayCauses":["c7"]}
        """#,
        "explicit waiting":
            #"""
        {"id":"t","room":"demo","settings":\#(settings),"settingsVersion":7,"sawOpenRoom":true,
        "madeAt":1700000000.25,"phase":{"waiting":{}},"revision":4,"pending":[],"idleDeadline":1,"deadlines":1,
        "failedLaunches":0}
        """#,
        "explicit changed":
            #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"phase":{"waiting":{}},"revision":4,
        "pending":[],"idleDeadline":1,"deadlines":1,"failedLaunches":0}
        """#,
        "explicit finished with its room":
            #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"phase":{"finished":{
        "_0":"roomClosed"}},"revision":4,"pending":[],"deadlines":1,"failedLaunches":0}
        """#,
        "finished while it waited for capacity":
            #"""
        {"id":"t","room":"demo","settings":{"outputs":[{"id":"own","url":"rtmp://127.0.0.1/own/key"}],"policy":{
        "bypass":"auto","whenHostLeaves":"promote","maxIdleSeconds":120,"priority":5,"whenIdle":"wait"}},
        "settingsVersion":7,"finishedAt":1700000100.0,"phase":{"finished":{"_0":"requested"}},"revision":0,
        "lastError":"no capacity: the program needs 0.32 cores, 0.05 are free; the task starts automatically when enough cores are free",
        "refusal":{"neededCores":0.31790559999999995,"availableCores":0.05,"bookedCores":0.01,"retryAfter":5},
        "pending":[],"deadlines":0,"failedLaunches":0}
        """#,
        "explicit running":
            #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"phase":{"running":{}},"plan":{
        "revision":5,"task":"t","room":"demo","sources":[{"id":"alice/camera","url":"rtmp://127.0.0.1/alice",
        "audio":true,"video":true}],"mode":{"bypass":{"_0":"alice/camera"}},"scene":{"canvas":{"width":720,
        "height":1280,"fps":20,"background":"#000000"},"panes":[{"source":"alice/camera","user":"alice","x":0,
        "y":0,"width":720,"height":1280,"z":0,"fit":"cover","align":"center","opacity":1.0,"isLive":true,
        "fallback":{"lastFrame":{}},"card":{"name":"alice","initials":"A","colour":"#A83B72"}}],"overlays":[],
        "sound":{"levels":[{"source":"alice/camera","gain":100}]},"transition":{"duration":0,"easing":"linear"}},
        "outputs":[{"id":"own","url":"rtmp://127.0.0.1/own/key"}],"causedAt":1000000000,
        "cause":"stream.published alice/camera","causes":["c1"]},"revision":5,"host":"alice","sourceFacts":{
        "absent":[],"pictureSizes":[]},"quietUntil":1300000000,"pending":[],"deadlines":1,"failedLaunches":0,
        "connectedAt":1000000000,"relayCauses":["c1"]}
        """#,
        "explicit ending":
            #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"phase":{"ending":{"_0":"requested"}},
        "revision":5,"host":"alice","sourceFacts":{"absent":[],"pictureSizes":[]},"pending":[],"deadlines":1,
        "failedLaunches":0,"connectedAt":1000000000,"relayCauses":["c9"]}
        """#,
        "finished by request":
            #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"finishedAt":1700000100.5,"phase":{
        "finished":{"_0":"requested"}},"revision":5,"sourceFacts":{"absent":[],"pictureSizes":[]},"pending":[],
        "deadlines":1,"failedLaunches":0,"connectedAt":1000000000,"relayCauses":["c9"]}
        """#,
    ]

    /// A task that was deleted while it waited for the end of its idleness. Its deadline has no meaning any more.
    static let finishedWithADeadline =
        #"""
        {"id":"t","room":"demo","settings":\#(gridSettings),"settingsVersion":8,"firstSettings":\#(settings),
        "attachment":"{\"a\":1}","sawOpenRoom":true,"madeAt":1700000000.25,"finishedAt":1700000100.0,"phase":{
        "finished":{"_0":"requested"}},"revision":4,"pending":[],"idleDeadline":1,"deadlines":1,"failedLaunches":0}
        """#

    // MARK: Parts

    private static let bypassPlan =
        #"""
        {"revision":1,"task":"auto-demo","room":"demo","sources":[{"id":"alice/camera","url":"rtmp://127.0.0.1/alice",
        "audio":true,"video":true}],"mode":{"bypass":{"_0":"alice/camera"}},"scene":{"canvas":{"width":720,
        "height":1280,"fps":20,"background":"#000000"},"panes":[{"source":"alice/camera","user":"alice","x":0,"y":0,
        "width":720,"height":1280,"z":0,"fit":"cover","align":"center","opacity":1.0,"isLive":true,"fallback":{
        "lastFrame":{}},"card":{"name":"alice","initials":"A","colour":"#A83B72"}}],"overlays":[],"sound":{"levels":[{
        "source":"alice/camera","gain":100}]},"transition":{"duration":0,"easing":"linear"}},"outputs":[{"id":"main",
        "url":"rtmp://127.0.0.1/out/demo"}],"causedAt":1000000000,"cause":"stream.published alice/camera",
        "causes":["c1"]}
        """#

    private static let mixPlan =
        #"""
        {"revision":2,"task":"auto-demo","room":"demo","sources":[{"id":"alice/camera","url":"rtmp://127.0.0.1/alice",
        "audio":true,"video":true},{"id":"bob/camera","url":"rtmp://127.0.0.1/bob","audio":true,"video":true}],
        "mode":{"mix":{"host":"alice/camera"}},"scene":{"canvas":{"width":720,"height":1280,"fps":20,
        "background":"#000000"},"panes":[{"source":"alice/camera","user":"alice","x":0,"y":0,"width":720,"height":640,
        "z":0,"fit":"cover","align":"center","opacity":1.0,"isLive":true,"fallback":{"lastFrame":{}},"card":{
        "name":"alice","initials":"A","colour":"#A83B72"}},{"source":"bob/camera","user":"bob","x":0,"y":640,
        "width":720,"height":640,"z":0,"fit":"cover","align":"center","opacity":1.0,"isLive":true,"fallback":{
        "lastFrame":{}},"card":{"name":"bob","initials":"B","colour":"#4657B5"}}],"overlays":[],"sound":{"levels":[{
        "source":"alice/camera","gain":100},{"source":"bob/camera","gain":100}]},"transition":{"duration":0,
        "easing":"linear"}},"outputs":[{"id":"main","url":"rtmp://127.0.0.1/out/demo"}],"causedAt":1510000000,
        "cause":"stream.published bob/camera","causes":["c2"]}
        """#

    private static let settings =
        #"""
        {"host":"alice","outputs":[{"id":"own","url":"rtmp://127.0.0.1/own/key"}],"policy":{"bypass":"auto",
        "whenHostLeaves":"promote","maxIdleSeconds":60,"priority":5,"whenIdle":"finishWithRoom"}}
        """#

    private static let gridSettings =
        #"""
        {"host":"alice","layout":"grid","outputs":[{"id":"own","url":"rtmp://127.0.0.1/own/key"}],"policy":{
        "bypass":"auto","whenHostLeaves":"promote","maxIdleSeconds":60,"priority":5,"whenIdle":"finishWithRoom"}}
        """#
}
