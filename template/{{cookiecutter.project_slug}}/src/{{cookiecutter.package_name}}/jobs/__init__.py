"""Your jobs: one class per job, one file per subject. To add one:

1. Make a file here, or open the one of its subject.
2. Write a pydantic model of its payload and a class derived from `Job` with a wire name of its own:

       class ThumbnailArgs(BaseModel):
           image_id: str

       class MakeThumbnail(Job[ThumbnailArgs, None]):
           name = "images.thumbnail"

           def run(self, args: ThumbnailArgs, ctx: JobContext) -> None: ...

3. Publish it: `app.enqueue(MakeThumbnail, ThumbnailArgs(image_id="7"))`.

That is all. Classes in this folder are found by themselves, and neither Terraform nor any list has to change. The wire
name is what travels: keep it when you rename or move the class, and give the old one in `aliases` when you change it.
"""
